// EventLoop: to come.

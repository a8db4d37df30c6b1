// The texts of --help.

/// What each command says of itself.
enum Help {
  static let overview = """
    Larder: a caching HTTP forward proxy that never downloads the same byte twice.

    usage: larder serve [options]         run the proxy
           larder verify [options]        compare everything in the cache with its checksum
           larder check-config [FILE]     check a settings file and say what it means
           larder version                 print the version
           larder COMMAND --help          the options of a command

    exit codes: 0 done; 1 the server could not start or run, or the cache is not as it was written;
                2 wrong command line or settings
    """

  static let serve = """
    usage: larder serve [options]

      --config FILE            settings in YAML; flags given here come after it
      --listen HOST:PORT       where clients connect; may be given several times (default 127.0.0.1:3128)
      --admin HOST:PORT|off    health and metrics (default 127.0.0.1:3129)
      --cache-dir DIR          the cache's directory
      --cache-size SIZE        the most it may hold on disk, as in 20G
      --workers N              worker threads; 0 is one a core
      --access-log PATH|-|off  one line a request; - is standard output
      --log-level LEVEL        debug, info, warning or error
      --help                   this text

    signals: TERM ends after the responses under way, INT ends now, a second one at once; HUP reopens the log files
    exit codes: 0 stopped as asked; 1 could not start or run; 2 wrong command line or settings
    """

  static let verify = """
    usage: larder verify [options]

      --config FILE     settings in YAML, of which the cache's directory is used
      --cache-dir DIR   the cache's directory
      --repair          take out what is bad, and remove files and rows that nothing refers to; not while a server
                        has the cache open. What is taken out is fetched when it is asked for again
      --help            this text

    Compares every row of the index and every stored extent with its checksum: one line for each that is bad, and a
    summary. Without --repair nothing is changed, and a server may be running.

    exit codes: 0 all is as it was written, or has been repaired; 1 something is bad and was left, or the cache cannot
                be opened; 2 wrong command line or settings
    """

  static let version = """
    usage: larder version

    Prints the version of this program.
    """

  static let checkConfig = """
    usage: larder check-config [FILE]

    Reads the settings in FILE, or the defaults, and prints every setting with its value.
    exit codes: 0 the settings are right; 2 they are not, and the first error is named
    """
}

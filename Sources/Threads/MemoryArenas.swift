// How many arenas the C library keeps the process's memory in.
import CThreads

/// Lets all threads share at most `count` arenas of memory; to be called before there are any.
///
/// By default there are eight for each core, so that nearly every thread has its own. All but the first grow page by page,
/// with a system call each, and what is free in one serves nobody else.
public func limitMemoryArenas(to count: Int) { mallopt(M_ARENA_MAX, Int32(clamping: max(1, count))) }

import Foundation

// The ends are awaited by streams, because Thread Sanitizer takes a continuation that is resumed before its
// task has suspended for a race; results are read under a lock, because Thread Sanitizer follows locks.

/// Runs a closure on a new thread, which it may block, and returns what it returned.
func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
  let values = Recorder<Value>()
  let (end, ender) = AsyncStream<Never>.makeStream()
  Thread {
    values.record(body())
    ender.finish()
  }.start()
  // In a task that nobody cancels: a cancelled one would not wait.
  await Task { for await _ in end {} }.value
  return values.all[0]
}

/// Runs a closure on so many threads at once, and returns when all have returned.
func onOwnThreads(_ count: Int, _ body: @escaping @Sendable (_ index: Int) -> Void) async {
  let start = Latch()
  let ends = Recorder<Int>()
  let (end, ender) = AsyncStream<Never>.makeStream()
  for index in 0..<count {
    Thread {
      start.wait()
      body(index)
      ends.record(index)
      if ends.count == count { ender.finish() }
    }.start()
  }
  start.open()
  for await _ in end {}
  precondition(ends.count == count)
}

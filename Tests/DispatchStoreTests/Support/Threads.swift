import Foundation

/// Runs a closure on a thread of its own, which it may block, and returns what it returned.
func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
  let values = Recorder<Value>()
  Thread { values.record(body()) }.start()
  return await values.first(1)[0]
}

/// Runs a closure on so many threads at once, and returns when all have returned.
func onOwnThreads(_ count: Int, _ body: @escaping @Sendable (_ index: Int) -> Void) async {
  let start = Latch()
  let ends = Recorder<Int>()
  for index in 0..<count {
    Thread {
      start.wait()
      body(index)
      ends.record(index)
    }.start()
  }
  start.open()
  _ = await ends.first(count)
}

import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// What exploration has found in the engine, each in a scenario that shows it soon.
@Suite("Regressions of the engine")
struct EngineRegressionTests {
  /// A drainer asked whether the queue is suspended, and then took in what was pushed after that.
  @Test(arguments: [Dispatcher.Mode.serial, .async])
  func whatIsDispatchedWhileTheQueueIsSuspendedDoesNotStart(_ mode: Dispatcher.Mode) async throws {
    try await explore(seeds: seeds(3_000)) { dispatcher in
      let notes = dispatcher.makeNotes("notes")
      let first = dispatcher.dispatch(action: Note.add(1), mode: mode)
      // The drainer is still there, perhaps.
      while notes.model.numbers.isEmpty {}
      dispatcher.queue.isSuspended = true
      let second = dispatcher.dispatch(action: Note.add(2), mode: mode)
      for _ in 0..<4 where notes.model.numbers.contains(2) {
        throw Broken(description: "it started: \(notes.model.numbers)")
      }
      dispatcher.queue.isSuspended = false
      _ = await (first.result, second.result)
    }
  }

  /// A round had taken the operation from the dispatch, and did not know it yet: neither said that it was
  /// cancelled.
  @Test(arguments: [Dispatcher.Mode.async, .serial])
  func anOperationSaysThatItsDispatchWasCancelled(_ mode: Dispatcher.Mode) async throws {
    try await explore(seeds: seeds(3_000)) { dispatcher in
      let running = AsyncStream<RunningOperation<Notes, Note>>.makeStream()
      _ = MockStore<Notes, Note>(
        identifier: "notes", model: Notes(), dispatcher: dispatcher,
        answer: .run { running.continuation.yield($0) })
      let handle = dispatcher.dispatch(action: Note.add(1), mode: mode)
      for await operation in running.stream.prefix(1) {
        handle.cancel()
        let isCancelled = operation.isCancelled
        operation.finish()
        try check(isCancelled, "it does not say so")
      }
      _ = await handle.result
    }
  }
}

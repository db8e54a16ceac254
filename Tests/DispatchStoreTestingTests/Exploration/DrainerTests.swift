import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// How many operations on the queue an amount of work takes, counted in the trace of a simulation.
@Suite("Drainers")
struct DrainerTests {
  /// A lane gives way after every 64 actions; a drainer goes to the end of the queue after 256.
  @Test(arguments: [1, 2, 4])
  func aFloodedLaneNeedsOneAtATime(_ width: Int) async throws {
    let report = await Simulation(seed: 1, stepLimit: 1_000_000, width: width).run { dispatcher in
      let notes = dispatcher.makeNotes("notes")
      dispatcher.queue.isSuspended = true
      for number in 1...1_024 { dispatcher.dispatch(action: Note.add(number), mode: .serial) }
      let last = dispatcher.dispatch(action: Note.add(0), mode: .serial)
      dispatcher.queue.isSuspended = false
      _ = await last.result
      let count = notes.model.numbers.count
      try check(count == 1_025, "\(count)")
    }
    #expect(report.failure == nil)
    let drainers = report.trace.steps.count { "\($0)".contains("begin to drain") }
    #expect((5...6).contains(drainers), "\(drainers) drainers")
  }
}

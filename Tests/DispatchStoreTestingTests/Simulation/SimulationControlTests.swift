import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

@Suite("Simulation control")
struct SimulationControlTests {
  struct Unexpected: Error { let text: String }

  /// The results over all seeds.
  actor Seen {
    var all: Set<String> = []
    func insert(_ text: String) { all.insert(text) }
  }

  @Test func aHandleIsCancelledBeforeAndAfterItsStart() async {
    let seen = Seen()
    for seed in 0..<60 {
      let report = await Simulation(seed: UInt64(seed)).run { dispatcher in
        let notes = dispatcher.makeNotes("notes")
        let handle = dispatcher.dispatch(action: Note.add(1), mode: .serial)
        dispatcher.simulation?.atSomeTime { handle.cancel() }
        let isSuccess = await handle.result.isSuccess
        guard isSuccess == (notes.model.numbers == [1]) else {
          throw Unexpected(text: "\(isSuccess), \(notes.model)")
        }
        await seen.insert(isSuccess ? "ran" : "cancelled")
      }
      #expect(report.failure == nil)
    }
    #expect(await seen.all == ["ran", "cancelled"])
  }

  @Test func drawsFaultsAndThePassingOfTimeAreInTheTrace() async {
    let report = await Simulation(seed: 1).run { dispatcher in
      guard let simulation = dispatcher.simulation else { return }
      _ = simulation.draw(below: 6)
      simulation.atSomeTime {}
      try await simulation.clock.sleep(for: .seconds(1))
    }
    #expect(report.failure == nil)
    let transitions = Set(report.trace.steps.map(\.transition))
    #expect(transitions.isSuperset(of: ["draw", "a fault at some time", "the time has come to"]))
  }

  /// The number of steps that were done when a fault came.
  actor Progress {
    var all: Set<Int> = []
    func insert(_ count: Int) { all.insert(count) }
  }

  private static let orders = [SimulationOrder.uniform, .rare(preemptions: 3), .mixed]

  @Test(arguments: orders)
  func aFaultComesAlsoAfterTimeHasPassed(order: SimulationOrder) async {
    struct Wait: ActionType {}
    let progress = Progress()
    for seed in 0..<300 {
      let simulation = Simulation(seed: UInt64(seed), order: order)
      let scenario: @Sendable (Dispatcher) async throws -> Void = { dispatcher in
        let waits = dispatcher.register(
          store: Store(identifier: "waits", model: 0) {
            Perform(Wait.self) { _, context in
              for _ in 0..<10 {
                try await context.dispatcher.simulation?.clock.sleep(for: .seconds(1))
                try context.updateModel { $0 += 1 }
              }
            }
          })
        let handle = dispatcher.dispatch(Wait())
        dispatcher.simulation?.atSomeTime { handle.cancel() }
        await handle.ended()
        await progress.insert(waits.model)
      }
      let report = await simulation.run(scenario)
      #expect(report.failure == nil)
      // The seed alone repeats it.
      if seed < 20 { #expect(await simulation.run(scenario).trace == report.trace) }
    }
    let all = await progress.all
    #expect(all.contains(0) && !all.isDisjoint(with: 1...4) && !all.isDisjoint(with: 5...9))
  }

  @Test(arguments: orders)
  func aFaultComesAlsoInTheMiddleOfALongRun(order: SimulationOrder) async {
    let progress = Progress()
    for seed in 0..<30 {
      let report = await Simulation(seed: UInt64(seed), order: order).run { dispatcher in
        let notes = dispatcher.makeNotes("notes")
        dispatcher.simulation?.atSomeTime { notes.inject(model: Notes()) }
        for number in 1...60 {
          await dispatcher.dispatch(action: Note.add(number), mode: .serial).ended()
        }
        await progress.insert(60 - notes.model.numbers.count)
      }
      #expect(report.failure == nil)
    }
    #expect(await !progress.all.isDisjoint(with: 1...10))
    #expect(await !progress.all.isDisjoint(with: 20...59))
  }

  @Test func aStoreIsUnregisteredInTheMiddle() async {
    let seen = Seen()
    for seed in 0..<60 {
      let report = await Simulation(seed: UInt64(seed)).run { dispatcher in
        let notes = dispatcher.makeNotes("notes")
        dispatcher.simulation?.atSomeTime { dispatcher.unregister(store: notes) }
        let result = await dispatcher.dispatch(action: Note.add(1)).result
        await seen.insert("\(result.hasResponders) \(notes.model.numbers)")
      }
      #expect(report.failure == nil)
    }
    #expect(await seen.all == ["true [1]", "false []"])
  }

  private final class LastReference: @unchecked Sendable {
    // because a world runs one thread at a time
    private(set) var store: Store<Notes, Note>?
    init(to store: Store<Notes, Note>) { self.store = store }
    func release() { withExtendedLifetime(store.take()) {} }
  }

  @Test func theLastReferenceToAStoreIsReleased() async {
    let seen = Seen()
    for seed in 0..<60 {
      let report = await Simulation(seed: UInt64(seed)).run { dispatcher in
        let notes = LastReference(
          to: Store<Notes, Note>(identifier: "notes", reducer: NotesReducer()))
        dispatcher.register(store: notes.store!, ownership: .weak)
        dispatcher.simulation?.atSomeTime { notes.release() }
        let result = await dispatcher.dispatch(action: Note.add(1), mode: .serial).result
        await seen.insert(result["notes"].description)
      }
      #expect(report.failure == nil)
    }
    #expect(await seen.all.isSuperset(of: ["finished", "not involved"]))
  }

  @Test func operationsFailAndAreDelayedAsTheSeedDetermines() async {
    let seen = Seen()
    for seed in 0..<40 {
      let run: @Sendable () async -> SimulationReport = {
        await Simulation(seed: UInt64(seed)).run { dispatcher in
          let control = dispatcher.simulation!
          try await control.delay(upTo: .seconds(10))
          do {
            try control.failSometimes(oneIn: 2)
            await seen.insert("passed")
          } catch {
            await seen.insert("\(error)")
          }
          guard control.clock.now.offset < .seconds(10) else { throw Unexpected(text: "late") }
        }
      }
      let (first, second) = (await run(), await run())
      #expect(first.failure == nil)
      #expect(first.trace == second.trace)
    }
    #expect(await seen.all == ["passed", "a fault that the simulation injected"])
  }

  @Test func aDispatcherOnSystemThreadsHasNone() {
    #expect(Dispatcher().simulation == nil)
  }
}

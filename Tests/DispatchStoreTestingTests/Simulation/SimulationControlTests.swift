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

  @Test func theLastReferenceToAStoreIsReleased() async {
    let seen = Seen()
    for seed in 0..<60 {
      let report = await Simulation(seed: UInt64(seed)).run { dispatcher in
        let notes = SimulatedReference(
          Store<Notes, Note>(identifier: "notes", reducer: NotesReducer()))
        dispatcher.register(store: notes.object!, ownership: .weak)
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

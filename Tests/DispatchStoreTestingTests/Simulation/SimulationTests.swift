import DispatchStore
import DispatchStoreTesting
import Foundation
import Synchronization
import Testing

@Suite("Simulation")
struct SimulationTests {
  static let modes = Dispatcher.Mode.allBuiltIn + [.serial(lane: "a")]

  /// Two producers, each of which dispatches and waits.
  static func twoProducers(_ mode: Dispatcher.Mode) -> @Sendable (Dispatcher) async throws -> Void {
    { dispatcher in
      let store = dispatcher.makeNotes("notes")
      async let first = dispatcher.dispatch(action: Note.add(1), mode: mode).result
      async let second = dispatcher.dispatch(action: Note.add(2), mode: mode).result
      let successes = await [first.isSuccess, second.isSuccess]
      guard successes == [true, true], store.model.numbers.sorted() == [1, 2] else {
        throw Unexpected(text: "\(successes) \(store.model)")
      }
    }
  }

  struct Unexpected: Error { let text: String }

  @Test(arguments: modes)
  func theSameSeedGivesTheSameTrace(_ mode: Dispatcher.Mode) async {
    for seed in 0..<20 {
      let simulation = Simulation(seed: UInt64(seed))
      let first = await simulation.run(Self.twoProducers(mode))
      let second = await simulation.run(Self.twoProducers(mode))
      #expect(first.failure == nil, "seed \(seed)")
      #expect(first.trace.description == second.trace.description)
      #expect(first.trace.steps.count > 5)
    }
  }

  @Test func theSameSeedGivesTheSameKeysOfDurableWork() async {
    struct Noted: CodableAction {}
    let keys = Mutex<[String]>([])
    for _ in 0..<2 {
      let report = await Simulation(seed: 1).run { dispatcher in
        dispatcher.onWarning { _ in }
        dispatcher.register(
          effect: DurableEffect("note", on: Noted.self) { _, context in
            keys.withLock { $0.append(context.key) }
            return nil
          })
        for _ in 0..<3 { await dispatcher.dispatch(Noted()).settled() }
      }
      #expect(report.failure == nil)
    }
    let all = keys.withLock(\.self)
    #expect(all.count == 6 && all[..<3] == all[3...])
  }

  @Test(arguments: modes)
  func itsTransactionsHaveTheEpochZero(_ mode: Dispatcher.Mode) async {
    let report = await Simulation(seed: 1).run { dispatcher in
      _ = dispatcher.makeNotes("notes")
      let handles = (1...3).map { dispatcher.dispatch(action: Note.add($0), mode: mode) }
      for handle in handles { await handle.ended() }
      let transactions = handles.map(\.dispatchID)
      guard transactions.allSatisfy({ $0.epoch == 0 && "\($0)" == "#\($0.number)" }),
        transactions == transactions.sorted(), Set(transactions).count == 3
      else { throw Unexpected(text: "\(transactions)") }
    }
    #expect(report.failure == nil)
  }

  /// A name with another hash for each salt.
  struct SaltedName: Hashable, Sendable, CustomStringConvertible {
    let description: String
    let salt: UInt64
  }

  /// Hashes differ between processes, and with them which lanes are used again under which names.
  @Test func theTraceDoesNotDependOnHashesOfLanes() async {
    for seed in 0..<3 {
      var traces: Set<String> = []
      for salt in seeds(150) {
        let report = await Simulation(seed: UInt64(seed)).run { dispatcher in
          let store = dispatcher.makeNotes("notes")
          for (number, name) in ["a", "b", "c", "a", "b"].enumerated() {
            let mode = Dispatcher.Mode.serial(lane: SaltedName(description: name, salt: salt))
            _ = await dispatcher.dispatch(action: Note.add(number), mode: mode).result
            await store.send(Note.add(number), mode: .init(mode)!)
          }
        }
        #expect(report.failure == nil, "seed \(seed)")
        traces.insert(report.trace.description)
      }
      #expect(traces.count == 1, "seed \(seed)")
    }
  }

  /// Cancelling a block calls code of it, so the order must not depend on hashes.
  @Test func aCancelledTasksBlocksSeeItInTheOrderOfTheirStores() async throws {
    try await explore(seeds: 0..<20) { dispatcher in
      let (numbers, seen) = (0..<20, SeenNumbers())
      for number in numbers {
        dispatcher.register(
          store: Store(
            identifier: "\(number)", reducer: CancelledReducer { seen.add(number) }))
      }
      await withTaskGroup { group in
        group.addTask {
          // With a time limit, the blocks have tasks of their own.
          _ = await dispatcher.send(
            Note.add(1), mode: .async, options: .timeout(.seconds(3_600)))
        }
        try? await dispatcher.simulation?.clock.sleep(for: .seconds(1))
        group.cancelAll()
      }
      guard seen.all == Array(numbers) else { throw Unexpected(text: "\(seen.all)") }
    }
  }

  private final class SeenNumbers: @unchecked Sendable {
    // because a world runs one thread at a time
    private(set) var all: [Int] = []
    func add(_ number: Int) { all.append(number) }
  }

  /// Sleeps until it is cancelled, and calls a closure then.
  private final class CancelledReducer: Reducer<Notes, Note> {
    private let onCancel: @Sendable () -> Void

    init(onCancel: @escaping @Sendable () -> Void) {
      self.onCancel = onCancel
    }

    override func operation(
      for action: Note, in store: Store<Notes, Note>
    ) -> ActionOperation<Notes, Note> {
      ActionOperation(action: action, store: store) { [onCancel] _, store async throws in
        guard let clock = store.dispatcher?.simulation?.clock else { return }
        try await withTaskCancellationHandler {
          try await clock.sleep(for: .seconds(1_800))
        } onCancel: {
          onCancel()
        }
      }
    }
  }

  @Test func bothOrdersOccur() async {
    let orders = ObservedOrders()
    for seed in 0..<50 {
      let report = await Simulation(seed: UInt64(seed)).run { dispatcher in
        let store = dispatcher.makeNotes("notes")
        async let first = dispatcher.dispatch(action: Note.add(1)).result
        async let second = dispatcher.dispatch(action: Note.add(2)).result
        _ = await (first, second)
        await orders.insert(store.model.numbers)
      }
      #expect(report.failure == nil)
    }
    #expect(await orders.all == [[1, 2], [2, 1]])
  }

  actor ObservedOrders {
    var all: Set<[Int]> = []
    func insert(_ order: [Int]) { all.insert(order) }
  }

  @Test func whatTheScenarioThrowsIsTheFailure() async {
    let report = await Simulation(seed: 1).run { _ in throw Unexpected(text: "no") }
    #expect(report.failure?.kind == .threw)
    #expect(report.failure?.message == "Unexpected(text: \"no\")")
  }

  @Test func whatTheScenarioThrowsIsShownWithTheReportOfATestStoreThatItReleases() async throws {
    let report = await Simulation(seed: 1).run { dispatcher in
      let store = TestStore(dispatcher.makeNotes("notes"), dispatcher: dispatcher)
      await store.start(.add(1)).handle.ended()
      if store.model.numbers == [1] { throw Unexpected(text: "no") }
    }
    let failure = try #require(report.failure)
    #expect(failure.kind == .expectation)
    #expect(failure.message.contains("1 action has ended, and the test did not assert how:"))
    #expect(failure.message.hasSuffix("\n\nThen the scenario threw: Unexpected(text: \"no\")"))
  }

  @Test func aFailureOfATestStoreIsTheFailure() async {
    let report = await Simulation(seed: 1).run { dispatcher in
      let store = TestStore(dispatcher.makeNotes("notes"), dispatcher: dispatcher)
      await store.send(.add(1)) { $0.numbers = [2] }
    }
    #expect(report.failure?.kind == .expectation)
    #expect(report.failure?.message.contains("is not the expected one") == true)
  }

  @Test func aStallNamesWhatHasNotEnded() async {
    let line = #line + 4
    let report = await Simulation(seed: 1).run { dispatcher in
      dispatcher.queue.isSuspended = true
      _ = dispatcher.makeNotes("notes")
      _ = await dispatcher.dispatch(action: Note.add(1), mode: .serial).result
    }
    #expect(report.failure?.kind == .stalled)
    #expect(
      report.failure?.message == """
        No thread can run: dispatch #0 (DispatchStoreTestingTests/SimulationTests.swift:\(line), \
        serial) has not ended; drainer 1 has not begun; the scenario has not returned. Something may wait for the \
        world outside, which a simulation can't see: for Task.sleep (sleep on the simulation's clock), a queue, or \
        another thread.
        """)
  }

  @Test(arguments: [false, true])
  func aRunOfAnEffectThatWaitsForEverFailsTheRunUnlessItIsLongLived(isLongLived: Bool) async {
    let report = await Simulation(seed: 1).run { dispatcher in
      let latch = Latch()
      dispatcher.register(
        effect: isLongLived
          ? .longLived { _ in await latch.opened() }
          : Effect(Note.self) { _, _ in await latch.opened() })
      await dispatcher.makeNotes("notes").dispatch(.add(1), mode: .serial).ended()
    }
    #expect(report.failure?.kind == (isLongLived ? nil : .stalled))
    let beginning =
      #"No thread can run: dispatcher "dispatcher" has effects that go on (The effect on Note ("#
    #expect(report.failure.map { $0.message.hasPrefix(beginning) } != false)
  }

  @Test func aRunThatDoesNotEndNamesTheEffectsThatGoOn() async {
    let line = #line + 4
    let report = await Simulation(seed: 1, stepLimit: 1_000).run { dispatcher in
      let clock = dispatcher.simulation!.clock
      dispatcher.register(
        effect: .longLived { _ in
          while true { try await clock.sleep(for: .seconds(1)) }
        })
      await dispatcher.makeNotes("notes").dispatch(.add(1), mode: .serial).ended()
    }
    #expect(report.failure?.kind == .tooLong)
    let message = report.failure?.message ?? ""
    #expect(message.hasPrefix("It has not ended after 1000 steps: "))
    #expect(
      message.hasSuffix(
        """
        dispatcher "dispatcher" has effects that go on (The long-lived effect \
        (DispatchStoreTestingTests/SimulationTests.swift:\(line)): 1 run). Close or drain a dispatcher with \
        long-lived effects at the end of a scenario.
        """))
  }

  @Test func aDispatchFromOutsideFailsTheRun() async {
    let report = await Simulation(seed: 1).run { dispatcher in
      _ = dispatcher.makeNotes("notes")
      await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          dispatcher.dispatch(action: Note.add(1), mode: .sync)
          continuation.resume()
        }
      }
    }
    #expect(report.failure?.kind == .leftWorld)
  }

  @Test func aVisitToTheMainActorFailsTheRun() async {
    let report = await Simulation(seed: 1).run { _ in await MainActor.run {} }
    #expect(report.failure?.kind == .leftWorld)
    #expect(report.failure?.message.contains("was resumed from outside") == true)
  }

  @Test(arguments: [false, true])
  func aDispatcherThatIsNotOfTheSimulationFailsTheRun(isList: Bool) async {
    let other = Dispatcher(name: "other")
    let report = await Simulation(seed: 1).run { _ in
      _ = other.makeNotes("notes")
      if isList {
        other.dispatch(actions: [Note.add(1), Note.add(2)], mode: .sync)
      } else {
        other.dispatch(action: Note.add(1), mode: .sync)
      }
    }
    #expect(report.failure?.kind == .leftWorld)
    #expect(report.failure?.message.contains("dispatcher \"other\"") == true)
  }

  @Test func aSecondDispatcherOfTheSimulationIsPartOfIt() async {
    let report = await Simulation(seed: 1).run { dispatcher in
      let other = dispatcher.simulation!.makeDispatcher(name: "other")
      _ = other.makeNotes("notes")
      _ = await other.dispatch(action: Note.add(1), mode: .serial).result
    }
    #expect(report.failure == nil)
  }
}

import DispatchStore
import DispatchStoreTesting
import Testing

@Suite("Exploration")
struct ExploreTests {
  struct LostUpdate: Error {}

  /// Reads and writes in two steps, so that the other task may write between them.
  @Sendable static func addsInTwoSteps(_ dispatcher: Dispatcher) async throws {
    let notes = dispatcher.makeNotes("notes")
    async let first: Void = notes.inject(model: Notes(numbers: notes.model.numbers + [1]))
    async let second: Void = notes.inject(model: Notes(numbers: notes.model.numbers + [2]))
    _ = await (first, second)
    if notes.model.numbers.count != 2 { throw LostUpdate() }
  }

  @Test func findsTheFirstFailingSeedAndShortensItsSchedule() async throws {
    let failure = await #expect(throws: ExplorationFailure.self) {
      try await explore(seeds: 0..<1_000, Self.addsInTwoSteps)
    }
    let found = try #require(failure)
    #expect(found.failure.kind == .threw)
    #expect(found.failure.message == "LostUpdate()")
    #expect(found.switchCount <= 4)
    let described = found.description.split(separator: "\n").map(String.init)
    #expect(described[0].hasPrefix("Seed \(found.seed) fails: "))
    #expect(described[1].hasPrefix("The plainest schedule found that still fails has "))
    #expect(described[2].hasSuffix("scenario  begin"))
    // The seed alone repeats it.
    let report = await Simulation(seed: found.seed).run(Self.addsInTwoSteps)
    #expect(report.failure == found.failure)
  }

  @Test func isTheSameWhateverRunsInParallel() async throws {
    let failures = await withTaskGroup(of: String.self) { group in
      for _ in 0..<3 {
        group.addTask {
          do throws(ExplorationFailure) {
            try await explore(seeds: 0..<1_000, Self.addsInTwoSteps)
            return "none"
          } catch {
            return "\(error.seed) \(error.trace)"
          }
        }
      }
      return await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(failures.count == 1)
  }

  actor Runs {
    var count = 0
    private var search: (task: Task<Void, any Error>, last: Int)?

    func add() {
      count += 1
      if let search, count == search.last { search.task.cancel() }
    }

    func cancel(_ task: Task<Void, any Error>, at last: Int) { search = (task, last) }
  }

  /// Each run of it would take as many steps.
  @Test func aRunThatDoesNotEndIsRepeatedOnce() async {
    let runs = Runs()
    let failure = await #expect(throws: ExplorationFailure.self) {
      try await explore(seeds: 0..<1, stepLimit: 1_000) { dispatcher in
        await runs.add()
        let notes = dispatcher.makeNotes("notes")
        while true { await notes.dispatch(.add(1), mode: .serial).ended() }
      }
    }
    #expect(failure?.failure.kind == .tooLong)
    #expect(failure?.description.contains("plainest") == false)
    #expect(failure?.trace.steps.isEmpty == false)
    #expect(await runs.count == 2)
  }

  @Test(.timeLimit(.minutes(1))) func shortensNoScheduleOnceItIsCancelled() async {
    let (runs, mayBegin) = (Runs(), Latch())
    let search = Task {
      await mayBegin.opened()
      try await explore(seeds: 0..<1, order: .uniform) { dispatcher in
        await runs.add()
        let notes = dispatcher.makeNotes("notes")
        let handles = (0..<20).map { notes.dispatch(.add($0), mode: .async) }
        for handle in handles { await handle.ended() }
        throw LostUpdate()
      }
    }
    // In the run that repeats the failure; one more shows the steps.
    await runs.cancel(search, at: 2)
    mayBegin.open()
    let result = await search.result
    #expect(throws: ExplorationFailure.self) { try result.get() }
    #expect(await runs.count == 3)
  }

  #if os(Linux)
    @Test func saysHowManySeedsItHasRunIfItIsCancelled() async throws {
      let run = try await TestProcess.run([
        "--testing-library", "swift-testing", "--filter", "cancelledExplorationProbe",
      ])
      #expect(!run.failed)
      let line = #/explore at .*FailureProbes.swift:\d+: cancelled after \d+ of 1000000000 seeds\n/#
      #expect(run.output.contains(line))
    }
  #endif

  @Test(arguments: [false, true])
  func aCrashNamesTheSeedAndTheCall(inOneSimulation isAlone: Bool) async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) { [isAlone] in
      let crash: @Sendable (Dispatcher) async throws -> Void = { _ in fatalError("a crash") }
      if isAlone {
        _ = await Simulation(seed: 7).run(crash)
      } else {
        try await explore(seeds: 7..<8, crash)
      }
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    let beginning = "It crashed in the simulation with seed 7 at DispatchStoreTestingTests/"
    #expect(message.contains(beginning + "ExploreTests.swift:"))
  }

  @Test func passesWhereNoSeedFails() async throws {
    try await explore(seeds: 0..<200) { dispatcher in
      let notes = dispatcher.makeNotes("notes")
      async let first = dispatcher.dispatch(action: Note.add(1)).result
      async let second = dispatcher.dispatch(action: Note.add(2)).result
      _ = await (first, second)
      if notes.model.numbers.count != 2 { throw LostUpdate() }
    }
  }
}

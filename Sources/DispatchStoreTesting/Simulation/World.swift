import DispatchStore

/// A world in which one thread at a time runs, and the seed decides which one.
///
/// The thread that runs has the baton. At each yield point it draws who goes on, wakes that one and
/// sleeps. Work that was not begun is given to the first thread that has none.
final class World: SimulatedWorld, @unchecked Sendable {
  // because what changes belongs to the thread that has the baton
  let options: WorldOptions
  let clock = VirtualClock()
  let mainHolders = WaitGraph.MainHolders()
  private let pool: FiberPool
  private(set) var threads: [Fiber] = []
  private(set) var works: WorkList
  private var schedule: Schedule
  private var generator: SeededGenerator
  private var candidates: [Candidate] = []
  private var stepCount = 0
  private var numbers = WorldNumbers()
  private(set) var underWay: [TransactionID: String] = [:]
  private var hasBegun = false
  private(set) var hasReturned = false
  private var (isOver, isWaking) = (false, false)
  /// What came in this step, to be put in order.
  private var numbered: [(UInt64, @Sendable () -> Void)] = []
  private var trace = SimulationTrace()
  private let over = Semaphore()
  let outside = Outside()

  private enum Candidate {
    case thread(Fiber)
    case work(Int)
  }

  init(_ options: WorldOptions, on pool: FiberPool) {
    self.options = options
    self.pool = pool
    works = WorkList(width: options.width)
    schedule =
      options.deviations.map { Schedule(seed: options.seed, deviations: $0) }
      ?? Schedule(seed: options.seed, order: options.order)
    // Another stream, so that a choice in the scenario does not hang on who went on.
    generator = SeededGenerator(seed: ~options.seed)
  }

  // MARK: The run, seen from outside

  /// Runs a scenario to its end; the calling thread waits meanwhile.
  func run(
    _ scenario: @escaping @Sendable (Dispatcher) async throws -> Void
  ) -> SimulationReport {
    guard hasYieldPoints else { return .unavailable(seed: options.seed) }
    start(scenario)
    hasBegun = true
    takeIn()
    handBaton(to: .work(0), from: nil)
    over.wait()
    return SimulationReport(
      seed: options.seed, failure: outside.failure, stepCount: stepCount, trace: trace,
      deviations: schedule.deviations)
  }

  private func start(_ scenario: @escaping @Sendable (Dispatcher) async throws -> Void) {
    let dispatcher = makeDispatcher("dispatcher")
    Task(executorPreference: WorldExecutor(self)) {
      do {
        try await withFailureHandler(self.outside.note) { try await scenario(dispatcher) }
      } catch {
        self.outside.fail(.threw, "\(error)")
      }
      self.hasReturned = true
    }
  }

  func makeDispatcher(_ name: String) -> Dispatcher {
    Dispatcher(name: name, clock: clock, in: self)
  }

  // MARK: Steps

  func yield(_ fiber: Fiber, _ transition: Transition, _ subject: () -> String) {
    if !isWaking {
      fiber.state = .ready
      if !goOn(from: fiber) { end(stuck: fiber) }
    }
    note(fiber, transition, subject)
  }

  func wait(_ fiber: Fiber, for reason: String, until condition: @escaping () -> Bool) {
    guard !condition() else { return }
    fiber.state = .waiting(for: reason, until: condition)
    note(fiber, .wait) { reason }
    if !goOn(from: fiber) { end(stuck: fiber) }
    fiber.state = .ready
  }

  private func note(_ fiber: Fiber, _ transition: Transition, _ subject: () -> String) {
    if options.isTraced { trace.append(fiber.name, transition, subject()) }
  }

  /// Runs what a thread is given, until the world is over.
  func runWorks(on fiber: Fiber) {
    while let work = fiber.work {
      note(fiber, .begin) { "" }
      work.body()
      note(fiber, .end) { "" }
      works.ended(work)
      fiber.work = nil
      fiber.state = .idle
      if !isOver, !goOn(from: fiber) { end(stuck: nil) }
    }
  }

  /// Draws who goes on, and sleeps until that is this thread; false where nobody can or may.
  private func goOn(from fiber: Fiber) -> Bool {
    stepCount += 1
    guard stepCount <= options.stepLimit else {
      outside.fail(
        .tooLong, "It has not ended after \(options.stepLimit) steps. " + Self.list(unfinished))
      return false
    }
    repeat {
      takeIn()
      gatherCandidates()
      if candidates.isEmpty { continue }
      let present = candidates.firstIndex {
        if case .thread(let thread) = $0 { thread === fiber } else { false }
      }
      let choice = schedule.choose(
        among: candidates.count, present: present, fallBehind: { fiber.priority = $0 },
        priority: { place in
          switch candidates[place] {
          case .thread(let thread): thread.priority
          case .work(let index): works.waiting[index].priority
          }
        })
      handBaton(to: candidates[choice], from: fiber)
      return true
    } while candidates.isEmpty && wakeNextSleeper()
    return false
  }

  /// Lets time pass; the engine posts what wakes in a `.sync` dispatch, which yields.
  private func wakeNextSleeper() -> Bool {
    isWaking = true
    defer { isWaking = false }
    return clock.advanceToNextSleeper()
  }

  private func gatherCandidates() {
    candidates.removeAll(keepingCapacity: true)
    for thread in threads where thread.canGoOn { candidates.append(.thread(thread)) }
    works.forEachThatMayBegin { candidates.append(.work($0)) }
  }

  private func handBaton(to candidate: Candidate, from fiber: Fiber?) {
    let next: Fiber
    switch candidate {
    case .thread(let thread):
      next = thread
    case .work(let index):
      let work = works.begin(at: index)
      next = idleThread()
      next.work = work
      next.priority = work.priority
    }
    next.state = .ready
    guard next !== fiber else { return }
    next.wake()
    fiber?.sleep()
  }

  private func idleThread() -> Fiber {
    if let idle = threads.first(where: \.isIdle) { return idle }
    let fiber = pool.take()
    fiber.enter(self)
    threads.append(fiber)
    return fiber
  }

  // MARK: The end

  /// - Parameter stuck: The calling thread, where it is in the middle of something.
  private func end(stuck: Fiber?) {
    // Where nothing of the world is left, what the scenario awaits has to come from outside.
    if outside.failure == nil, !hasReturned, unfinished.count == 1 {
      outside.awaitEntry(milliseconds: options.isTraced ? 2_000 : 50)
    }
    if !hasReturned || !unfinished.isEmpty {
      outside.fail(.stalled, "Nothing can go on. " + Self.list(unfinished))
    }
    isOver = true
    let idle = threads.filter { $0.isIdle && $0 !== currentSimulatedThread }
    for thread in idle { thread.wake() }
    over.signal()
    // Its stack can't be left: what is on it is lost.
    if let stuck { while true { stuck.sleep() } }
  }

  // MARK: What the engine asks for

  var width: Int { options.width }

  func run(_ kind: SimulatedWork, _ body: @escaping @Sendable () -> Void) {
    guard currentSimulatedThread?.world === self else {
      return outside.add(kind, body, isExpected: !hasBegun)
    }
    add(kind, body)
  }

  func run(inOrderOf number: UInt64, _ body: @escaping @Sendable () -> Void) {
    numbered.append((number, body))
  }

  private func takeIn() {
    for (_, body) in numbered.sorted(by: { $0.0 < $1.0 }) { add(.job, body) }
    numbered.removeAll(keepingCapacity: true)
    for (kind, body) in outside.takeWorks() { add(kind, body) }
  }

  private func add(_ kind: SimulatedWork, _ body: @escaping @Sendable () -> Void) {
    if case .substitute(after: let delay) = kind, delay > .zero {
      return clock.call(after: delay) { self.add(.substitute(after: .zero), body) }
    }
    works.append(kind, priority: schedule.makePriority(), body)
  }

  /// A number below `count`, drawn for the scenario or the engine.
  func draw(_ count: Int) -> Int {
    Int.random(in: 0..<count, using: &generator)
  }

  func makeIdentifiers() -> Range<UInt64> { numbers.nextIdentifiers() }
  func makeNumber() -> UInt64 { numbers.next() }

  func began(_ dispatch: TransactionID, _ description: @autoclosure () -> String) {
    underWay[dispatch] = description()
  }

  func ended(_ dispatch: TransactionID) {
    underWay[dispatch] = nil
  }

  func wasEntered(_ description: String) {
    outside.noteEntry(description)
  }
}

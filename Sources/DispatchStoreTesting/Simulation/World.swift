import DispatchStore
import Foundation

/// A world in which one thread at a time runs, and the seed decides which one.
///
/// The running thread has the baton. At each yield point it draws which thread runs next, wakes that one and sleeps.
/// If the draw is a piece of work, the first idle thread runs it.
final class World: SimulatedWorld, @unchecked Sendable {
  // because only the thread that has the baton changes it
  let simulation: Simulation
  let mutant: Mutant?
  private let isTraced: Bool
  let clock = VirtualClock()
  let waitRecords = WaitGraph.WaitRecords()
  let blockedThreads = BlockedThreads()
  private let pool: FiberPool
  private var threads: [Fiber] = []
  private var works: WorkList
  private var schedule: Schedule
  private var generator: SeededGenerator
  /// Draws the moments of `atSomeTime`, in a stream of its own, so that a fault changes no other draw.
  private var momentGenerator: SeededGenerator
  private var candidates: [Candidate] = []
  private var stepCount = 0
  /// The next dispatch identifier, and the last number that was made: both are equal in each run.
  private var (nextIdentifier, lastNumber) = (UInt64(0), UInt64(0))
  /// The world's dispatchers, which runs of effects keep alive.
  private var dispatchers: [WeakDispatcher] = []
  private var underWay: [DispatchID: String] = [:]
  private var hasBegun = false
  private var hasReturned = false
  private var (isOver, isWaking, isChoosing) = (false, false, false)
  /// Work added in this step, to be sorted by its number.
  private var numbered: [(UInt64, @Sendable () -> Void)] = []
  /// The number of steps, and of times that the clock went on because nothing else could.
  private var moment = 0
  /// The closures of `atSomeTime` whose moment has not come, in the order of the calls.
  private var later: [(moment: Int, body: @Sendable () -> Void)] = []
  private var trace = SimulationTrace()
  private let over = Semaphore()
  let outside = Outside()

  private struct WeakDispatcher {
    weak let value: Dispatcher?
  }

  private enum Candidate {
    case thread(Fiber)
    case work(Int)
  }

  /// - Parameter deviations: A recorded schedule to repeat, instead of drawing one.
  init(
    _ simulation: Simulation, mutant: Mutant?, isTraced: Bool,
    as deviations: [Schedule.Deviation]? = nil, on pool: FiberPool
  ) {
    (self.simulation, self.mutant, self.isTraced) = (simulation, mutant, isTraced)
    self.pool = pool
    works = WorkList(width: simulation.width)
    schedule =
      deviations.map { Schedule(seed: simulation.seed, deviations: $0) }
      ?? Schedule(seed: simulation.seed, order: simulation.order)
    // A separate stream, so that the scenario's draws do not depend on the schedule's.
    generator = SeededGenerator(seed: ~simulation.seed)
    momentGenerator = SeededGenerator(seed: ~simulation.seed ^ 0xFA17)
  }

  // MARK: The run

  /// Runs a scenario to its end.
  ///
  /// Blocks the calling thread.
  func run(
    _ scenario: @escaping @Sendable (Dispatcher) async throws -> Void
  ) -> SimulationReport {
    guard hasYieldPoints else { return .unavailable(seed: simulation.seed) }
    start(scenario)
    hasBegun = true
    takeIn()
    handBaton(to: .work(0), from: nil)
    over.wait()
    return SimulationReport(
      seed: simulation.seed, failure: outside.failure, stepCount: stepCount, trace: trace,
      deviations: schedule.deviations)
  }

  private func start(_ scenario: @escaping @Sendable (Dispatcher) async throws -> Void) {
    let dispatcher = makeDispatcher("dispatcher")
    Task(executorPreference: WorldExecutor(self)) {
      do {
        try await withFailureHandler(self.outside.note) { try await scenario(dispatcher) }
      } catch {
        self.outside.noteThrown("\(error)")
      }
      self.hasReturned = true
    }
  }

  func makeDispatcher(_ name: String, queue: OperationQueue? = nil) -> Dispatcher {
    let dispatcher = Dispatcher(name: name, queue: queue, clock: clock, in: self)
    dispatchers.append(WeakDispatcher(value: dispatcher))
    return dispatcher
  }

  // MARK: Steps

  func yield(_ fiber: Fiber, _ transition: Transition, _ subject: () -> String) {
    if !isWaking {
      fiber.state = .ready
      if !switchThread(from: fiber) { end(stuck: fiber) }
    }
    note(fiber, transition, subject)
  }

  func comeToLock(_ fiber: Fiber) {
    // The condition of a waiting thread may come to a lock, too, while the world chooses.
    if simulation.switchesAtLocks, !isChoosing, !isWaking { yield(fiber, .lock) { "" } }
  }

  func wait(_ fiber: Fiber, for reason: String, until condition: @escaping () -> Bool) {
    guard !condition() else { return }
    fiber.state = .waiting(for: reason, until: condition)
    note(fiber, .wait) { reason }
    if !switchThread(from: fiber) { end(stuck: fiber) }
    fiber.state = .ready
  }

  private func note(_ fiber: Fiber, _ transition: Transition, _ subject: () -> String) {
    if isTraced { trace.append(fiber.name, transition, subject()) }
  }

  /// Notes something on the current thread that is no step: no other thread is drawn before it.
  private func noteHere(_ transition: Transition, _ subject: () -> String = { "" }) {
    if let fiber = currentSimulatedThread as? Fiber, fiber.world === self {
      note(fiber, transition, subject)
    }
  }

  /// Runs a thread's pieces of work, until the world is over.
  func runWorks(on fiber: Fiber) {
    while fiber.work != nil {
      runWork(on: fiber)
      fiber.hasLeftQueue = false
      fiber.state = .idle
      if !isOver, !switchThread(from: fiber) { end(stuck: nil) }
    }
  }

  /// Runs one piece of work.
  ///
  /// Releases the closure while the thread has the baton, because a `deinit` may take steps.
  @inline(never)
  private func runWork(on fiber: Fiber) {
    note(fiber, .begin) { "" }
    fiber.work?.body()
    note(fiber, .end) { "" }
    leaveQueue(fiber)
    // Out of the property before it is released: the steps of a `deinit` read that.
    withExtendedLifetime(fiber.work.take()) {}
  }

  /// Removes a thread's work from the count of its line.
  func leaveQueue(_ fiber: Fiber) {
    guard let work = fiber.work, !fiber.hasLeftQueue else { return }
    fiber.hasLeftQueue = true
    works.ended(work)
  }

  /// Draws the thread that runs next, wakes it, and sleeps until this one is drawn.
  ///
  /// Returns false if no thread can run, or the run has taken too many steps.
  private func switchThread(from fiber: Fiber) -> Bool {
    stepCount += 1
    moment += 1
    guard stepCount <= simulation.stepLimit else {
      outside.fail(.tooLong, tooLong)
      return false
    }
    if stepCount.isMultiple(of: Self.stepsBetweenChecks) { checkQueues(times: 1) }
    repeat {
      isChoosing = true
      takeIn()
      gatherCandidates()
      isChoosing = false
      if candidates.isEmpty { continue }
      let present = candidates.firstIndex {
        if case .thread(let thread) = $0 { thread === fiber } else { false }
      }
      let choice = schedule.choose(
        among: candidates.count, present: present, fallBehind: { fiber.priority = $0 },
        priority: { index in
          switch candidates[index] {
          case .thread(let thread): thread.priority
          case .work(let index): works.waiting[index].priority
          }
        })
      handBaton(to: candidates[choice], from: fiber)
      return true
    } while candidates.isEmpty
      && (checkQueues(times: Self.mostChecks) || wakeNextSleeper() || comeToNextMoment())
    return false
  }

  /// Does the periodic checks that a thread makes every few milliseconds outside of simulations.
  ///
  /// Returns whether there is work now.
  @discardableResult
  private func checkQueues(times: Int) -> Bool {
    isWaking = true
    defer { isWaking = false }
    let count = works.waiting.count
    for _ in 0..<times {
      guard blockedThreads.checkQueues() else { return false }
      if works.waiting.count > count { return true }
    }
    return false
  }

  /// The number of checks after which the engine adds threads for work without a known wait.
  private static let mostChecks = 1_010
  /// The number of steps after which a check is made, even if threads can still run.
  private static let stepsBetweenChecks = 500

  /// Advances the time to the next deadline.
  ///
  /// Returns false if there is no sleeper.
  ///
  /// A sleeper that wakes may enter the engine, whose yield points then do not switch threads.
  private func wakeNextSleeper() -> Bool {
    isWaking = true
    defer { isWaking = false }
    moment += 1
    guard clock.advanceToNextSleeper() else { return false }
    noteHere(.passTime) { "\(clock.now.offset)" }
    return true
  }

  /// Goes on to the moment of the next closure of `atSomeTime`, since nothing else is left.
  ///
  /// Returns false if there is none.
  private func comeToNextMoment() -> Bool {
    guard let next = later.map({ $0.moment }).min() else { return false }
    moment = max(moment, next)
    return true
  }

  private func gatherCandidates() {
    candidates.removeAll(keepingCapacity: true)
    for thread in threads where thread.isRunnable { candidates.append(.thread(thread)) }
    works.forEachThatMayBegin(exceptOperations: holdsOperationsBack) {
      candidates.append(.work($0))
    }
  }

  /// Whether operations may not begin now.
  ///
  /// In every other world, the system has no thread for a queue while threads block in the library.
  private var holdsOperationsBack: Bool {
    !simulation.seed.isMultiple(of: 2) && !blockedThreads.isEmpty
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

  /// The reasons why the world is not done: which thread waits for what, and what has not ended.
  private var unfinished: [String] {
    threads.compactMap { thread in
      guard case .waiting(let reason, _) = thread.state else { return nil }
      return "\(thread.name) waits for \(reason)"
    } + underWay.sorted { $0.key < $1.key }.map { "\($0.value) has not ended" }
      + works.waiting.map { "\($0.name) has not begun" }
  }

  /// The tasks of the program's own that have not ended: that of the scenario, and those of effects.
  ///
  /// - Parameter effects: The effects of a dispatcher whose runs go on, in words.
  private func unfinishedTasks(_ effects: (Dispatcher) -> [String]) -> [String] {
    // Locks are taken here, at which no other thread may go on.
    isWaking = true
    defer { isWaking = false }
    let scenario = hasReturned ? [] : ["the scenario has not returned"]
    return scenario
      + dispatchers.compactMap(\.value).compactMap { dispatcher -> String? in
        let runs = effects(dispatcher).joined(separator: ", ")
        return runs.isEmpty
          ? nil : "dispatcher \"\(dispatcher.name)\" has effects that go on (\(runs))"
      }
  }

  private static func sentence(_ beginning: String, _ reasons: [String]) -> String {
    reasons.isEmpty ? "\(beginning)." : "\(beginning): \(reasons.joined(separator: "; "))."
  }

  /// The message for a run that has taken too many steps.
  private var tooLong: String {
    let tasks = unfinishedTasks(\.runningEffects)
    let hint = " Close or drain a dispatcher with long-lived effects at the end of a scenario."
    return Self.sentence(
      "It has not ended after \(simulation.stepLimit) steps", unfinished + tasks)
      + (hasReturned && !tasks.isEmpty ? hint : "")
  }

  /// Ends the world.
  ///
  /// - Parameter stuck: The calling thread, if it is in the middle of a piece of work.
  private func end(stuck: Fiber?) {
    // A long-lived effect may await what never comes.
    let (unfinished, tasks) = (unfinished, unfinishedTasks(\.endingEffects))
    // If only tasks are unfinished, one awaits a thread or task from outside, so wait for that one to show up.
    if outside.failure == nil, unfinished.isEmpty, !tasks.isEmpty {
      outside.awaitEntry(milliseconds: isTraced ? 2_000 : 50)
    }
    if !(unfinished + tasks).isEmpty {
      outside.fail(
        .stalled, Self.sentence("No thread can run", unfinished + tasks) + " " + Self.hint)
    }
    isOver = true
    let idle = threads.filter { $0.isIdle && $0 !== currentSimulatedThread }
    for thread in idle { thread.wake() }
    over.signal()
    // The stack can't be unwound, so the thread sleeps for ever, and its references leak.
    if let stuck { while true { stuck.sleep() } }
  }

  // MARK: SimulatedWorld

  var width: Int { simulation.width }

  func run(_ kind: SimulatedWork, _ body: @escaping @Sendable () -> Void) {
    guard currentSimulatedThread?.world === self else {
      return outside.add(kind, body, isExpected: !hasBegun)
    }
    add(kind, body)
  }

  /// Runs a closure as a job at a moment that the seed draws: now, or after some steps.
  ///
  /// Their number is drawn evenly by its order of magnitude, because the length of the run is unknown.
  func runAtSomeTime(_ fault: @escaping @Sendable () -> Void) {
    let body: @Sendable () -> Void = {
      self.noteHere(.fault)
      fault()
    }
    guard currentSimulatedThread?.world === self, Bool.random(using: &momentGenerator) else {
      return run(.job, body)
    }
    let magnitude = Int.random(in: 4...12, using: &momentGenerator)
    let steps = Int.random(in: 0..<(1 << magnitude), using: &momentGenerator)
    // Early enough for a scenario that waits for it.
    later.append((moment + min(steps, simulation.stepLimit / 4), body))
  }

  func call(after delay: Duration, _ body: @escaping @Sendable () -> Void) {
    clock.call(after: delay, body)
  }

  func run(inOrderOf number: UInt64, _ body: @escaping @Sendable () -> Void) {
    numbered.append((number, body))
  }

  private func takeIn() {
    for (_, body) in numbered.sorted(by: { $0.0 < $1.0 }) { add(.job, body) }
    numbered.removeAll(keepingCapacity: true)
    for (kind, body) in outside.takeWorks() { add(kind, body) }
    while let index = later.firstIndex(where: { $0.moment <= moment }) {
      add(.job, later.remove(at: index).body)
    }
  }

  private func add(_ kind: SimulatedWork, _ body: @escaping @Sendable () -> Void) {
    works.append(kind, priority: schedule.makePriority(), body)
  }

  /// Draws a number below `count`, for the engine.
  func draw(_ count: Int) -> Int {
    Int.random(in: 0..<count, using: &generator)
  }

  /// Draws a number below `count`, for the scenario.
  func drawInScenario(_ count: Int) -> Int {
    let number = draw(count)
    noteHere(.draw) { "\(number), below \(count)" }
    return number
  }

  func makeIdentifiers() -> Range<UInt64> {
    defer { nextIdentifier += 100 }
    return nextIdentifier..<nextIdentifier + 100
  }

  private static let hint = """
    Something may wait for the world outside, which a simulation can't see: for Task.sleep (sleep on the simulation's \
    clock), a queue, or another thread.
    """

  func makeNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  func began(_ dispatch: DispatchID, _ description: @autoclosure () -> String) {
    underWay[dispatch] = description()
  }

  func ended(_ dispatch: DispatchID) {
    underWay[dispatch] = nil
  }

  func wasEntered(_ description: String) {
    outside.noteEntry(description)
  }
}

import DispatchStore
import Foundation

/// A thread of a world: an operating system thread that sleeps unless it has the baton.
///
/// It runs pieces of work one after the other, and outlives its world: `FiberPool` reuses it.
final class Fiber: SimulatedThread, @unchecked Sendable {
  // because only the thread that has the baton of its world changes it
  private let semaphore = Semaphore()
  private let home: FiberPool
  private var present: World?
  var state = State.idle
  /// Whether it keeps the baton at yield points.
  private var staysHere = false
  /// The current or next work.
  var work: Work?
  /// Whether the thread's work is an operation that has ended for its queue.
  var hasLeftQueue = false
  /// The priority, for orders with priorities.
  var priority: UInt64 = 0
  var lockCount = 0

  enum State {
    /// The thread has no work.
    case idle
    /// The thread can run.
    case ready
    /// The thread can run once the condition holds.
    case waiting(for: String, until: () -> Bool)
  }

  init(of pool: FiberPool) {
    home = pool
    let thread = Thread { [self] in live() }
    thread.stackSize = 8 << 20
    thread.start()
  }

  private func live() {
    while true {
      semaphore.wait()
      guard let world = present else { return }
      begin()
      CrashNote.set(world.simulation)
      world.runWorks(on: self)
      CrashNote.set(nil)
      leaveSimulation()
      present = nil
      guard home.put(self) else { return }
    }
  }

  /// Makes this an idle thread of a world.
  func enter(_ world: World) {
    present = world
    state = .idle
  }

  /// Wakes the thread.
  ///
  /// The caller hands it the baton.
  func wake() { semaphore.signal() }

  /// Sleeps until another thread hands over the baton.
  func sleep() { semaphore.wait() }

  /// Ends the thread.
  func retire() {
    present = nil
    semaphore.signal()
  }

  var name: String { work?.name ?? "idle" }

  var isIdle: Bool {
    if case .idle = state { true } else { false }
  }

  var isRunnable: Bool {
    switch state {
    case .idle: false
    case .ready: true
    case .waiting(_, let condition): condition()
    }
  }

  // MARK: SimulatedThread

  var world: any SimulatedWorld { present! }
  var mutant: Mutant? { present?.mutant }

  var isMainQueue: Bool {
    if case .main? = work?.kind { true } else { false }
  }

  func yield(_ transition: Transition, _ subject: () -> String) {
    if !staysHere { present!.yield(self, transition, subject) }
  }

  func comeToLock() {
    if !staysHere { present!.comeToLock(self) }
  }

  func withoutYielding(_ body: () -> Void) {
    let former = staysHere
    staysHere = true
    body()
    staysHere = former
  }

  func wait(for reason: String, until condition: @escaping () -> Bool) {
    present!.wait(self, for: reason, until: condition)
  }

  func leaveQueue() {
    present!.leaveQueue(self)
  }

  func spin(until condition: () -> Bool) -> Bool {
    for _ in 0..<present!.draw(4) {
      if condition() { return true }
      yield(.spin) { "" }
    }
    return condition()
  }
}

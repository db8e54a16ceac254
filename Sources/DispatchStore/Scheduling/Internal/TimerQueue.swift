import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// What is called when a timer's deadline has come.
protocol TimerTarget: AnyObject, Sendable {
  /// On a thread of the clock's, with no lock held.
  func timerFired()
}

/// The timers of one dispatcher, by its clock: memory for each, one alarm for all of them.
final class TimerQueue: Sendable {
  private let state: Locked<State>

  private struct State {
    var heap = TimerHeap<any TimerTarget>()
    var distant = DistantTimers()
    let alarm: AlarmSource
    /// When the earliest alarm comes that was set and has not come.
    var nextAlarm: Int64?
  }

  /// Deadlines after it are left to the distant timers that are set for them: an alarm comes before the first of them.
  ///
  /// The latest time of all where none is set.
  private let horizon = Atomic<Int64>(.max)

  /// The thread that goes through the distant timers, under the lock; 0 where none does.
  private let lookingThread = Atomic<UInt>(0)
  /// Not by `ThreadState`, which ends before what it has.
  private static var currentThread: UInt {
    #if canImport(Darwin)
      UInt(bitPattern: pthread_self())
    #else
      UInt(pthread_self())
    #endif
  }
  /// The places of timers to which that thread had the last reference.
  private let releasedPlaces = Locked<[Int]>([])

  /// The least time between an alarm that came early and the next one.
  private static let pause: Int64 = 1_000_000

  init(_ clock: DispatcherClock, in world: (any SimulatedWorld)? = nil) {
    state = Locked(State(alarm: AlarmSource.make(clock, in: world)))
    self.clock = clock
  }

  private let clock: DispatcherClock

  /// How many timers there are.
  var count: Int { state.withLock { $0.heap.count } }

  /// Adds a timer; the token to remove it.
  ///
  /// - Parameter deadline: In nanoseconds of the dispatcher's clock.
  func add(_ target: any TimerTarget, at deadline: Int64) -> TimerToken {
    state.withLock { state in
      let token = state.heap.insert(target, at: deadline)
      // An alarm that comes before sets the next one.
      if deadline < state.nextAlarm ?? .max { setAlarm(&state) }
      return token
    }
  }

  /// Removes a timer; without effect where it has fired.
  ///
  /// Its alarm still comes, finds nothing to do, and sets the next one.
  func remove(_ token: TimerToken) {
    let target = state.withLock { $0.heap.remove(token) }
    withExtendedLifetime(target) {}
  }

  /// An alarm has come.
  private func alarmCame(at time: Int64) {
    let now = clock.nanoseconds
    yieldPoint(.fireTimers)
    let due = state.withLock { state in
      if state.nextAlarm == time { state.nextAlarm = nil }
      if horizon.load(ordering: .relaxed) < now { moveHorizon(&state, now: now) }
      let due = state.heap.takeDue(at: now)
      // A clock may be early: the next alarm comes after a pause, so that this is no loop.
      if due.isEmpty || !isPlanted(.lostAlarm) {
        setAlarm(&state, notBefore: now < time ? now + Self.pause : .min)
      }
      return due
    }
    for target in due { target.timerFired() }
  }

  /// Sets the alarm for the earliest deadline, unless one comes before that.
  ///
  /// Under the lock, so that alarms are set in the order in which that is decided; it calls no code of the program.
  private func setAlarm(_ state: inout State, notBefore: Int64 = .min) {
    let distant = horizon.load(ordering: .relaxed).addingClamped(1)
    let earliest = min(state.heap.earliest() ?? .max, distant)
    if earliest == .max { return }
    let time = max(earliest, notBefore)
    if let nextAlarm = state.nextAlarm, nextAlarm <= time { return }
    state.nextAlarm = time
    state.alarm.set(at: time) { [weak self] in self?.alarmCame(at: time) }
  }
}

// Timers that their owners set without the lock, and that are known here before their deadlines come.
extension TimerQueue {
  /// Goes through this timer from now on, until that is removed; before it is set.
  func insert(_ timer: DistantTimer) {
    state.withLock { $0.distant.insert(timer) }
  }

  /// No longer goes through this timer, which is not set; its token where it is in the heap, or was.
  @discardableResult
  func remove(_ timer: DistantTimer) -> TimerToken? {
    if lookingThread.load(ordering: .relaxed) == Self.currentThread {
      // It holds the lock.
      if let place = timer.index { releasedPlaces.withLock { $0.append(place) } }
      return nil
    }
    return state.withLock { state in
      state.distant.remove(timer)
      return timer.token.take()
    }
  }

  /// Removes this timer from the heap, where its owner has found it to be.
  func unset(_ timer: DistantTimer) {
    let target = state.withLock { state in timer.token.take().flatMap { state.heap.remove($0) } }
    withExtendedLifetime(target) {}
  }

  /// Its owner has set this timer.
  ///
  /// The thread that moves the horizon past the deadline meanwhile finds the timer set, or this one finds the horizon
  /// moved.
  func wasSet(_ timer: DistantTimer, now: Int64) {
    if timer.deadline <= horizon.load(ordering: .sequentiallyConsistent) {
      wasSetUpToHorizon(timer, now: now)
    }
  }

  @inline(never)
  private func wasSetUpToHorizon(_ timer: DistantTimer, now: Int64) {
    state.withLock { state in
      let deadline = timer.deadline
      guard deadline <= horizon.load(ordering: .relaxed) else { return }
      if deadline - now > state.distant.window {
        // The first one from now on.
        horizon.store(deadline - 1, ordering: .sequentiallyConsistent)
        setAlarm(&state)
      } else if timer.isSet, let target = timer.enterHeap() {
        timer.token = state.heap.insert(target, at: deadline)
        if deadline < state.nextAlarm ?? .max { setAlarm(&state) }
      }
    }
  }

  /// Takes distant timers that are near into the heap, and moves the horizon to the first one that is not.
  ///
  /// Until it is there no deadline is after it, so that whoever sets a timer meanwhile waits for the lock.
  private func moveHorizon(_ state: inout State, now: Int64) {
    horizon.store(.max, ordering: .sequentiallyConsistent)
    lookingThread.store(Self.currentThread, ordering: .relaxed)
    let distant = state.distant
    let earliest = distant.takeDue(by: now.addingClamped(distant.window)) { timer, target in
      timer.token = state.heap.insert(target, at: timer.deadline)
    }
    lookingThread.store(0, ordering: .relaxed)
    state.distant.remove(
      at: releasedPlaces.withLock { places in
        defer { places = [] }
        return places
      })
    let next = isPlanted(.lostHorizon) ? nil : earliest
    horizon.store(next.map { $0 - 1 } ?? .max, ordering: .sequentiallyConsistent)
  }
}

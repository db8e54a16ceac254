import Dispatch

/// Where tasks wait for their turns in lanes: the thread that starts a turn runs it.
///
/// A task that is resumed in the system's pool has the lane until that comes to it; meanwhile others come, and have to wait,
/// too: then each action costs a resumption, for good. Here the job of the waiting task is its turn, a call on the thread
/// that drains the lane. After it the task goes on in the pool, without the lane, which is idle again once all that waited
/// have had their turns. Only actions that reduce have such turns, so that a turn does not suspend; its observers, hooks and
/// completion may block. So a thread takes turns only where no task is beneath on its stack, which would wait for them.
actor TaskTurns: SerialExecutor, JobRunner {
  // It has no state, so that turns in different lanes may be taken at the same time.
  static let shared = TaskTurns()

  nonisolated var unownedExecutor: UnownedSerialExecutor { asUnownedSerialExecutor() }

  /// Takes the turn of a dispatch, where it has come.
  func takeTurn(of dispatch: Dispatch, in task: TaskScheduler) {
    let thread = ThreadState.current
    let isFirst = thread.takesFirstTurn
    thread.takesFirstTurn = false
    guard task.startsNext() else { return }
    var started = dispatch
    if case .continues = Dispatch.run(&started, on: thread) { return }
    let lane = task.releaseWithoutDraining(dispatch)
    if isFirst { thread.laneToDrain = lane } else { lane?.drainTasks() }
  }

  /// A task comes, and waits.
  nonisolated func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    guard let task = ThreadState.current.takeComing(with: job) else { return runLater(job) }
    if !task.waits(with: job) { run(job) }
  }

  /// Runs what a task does here, on this thread.
  nonisolated func run(_ job: UnownedJob) {
    job.runSynchronously(on: unownedExecutor)
  }

  /// The same on another thread.
  nonisolated func runLater(_ job: UnownedJob) {
    let thread = ThreadState.current
    if let world = thread.simulated?.world {
      world.run(.job) { self.runBesideTasks(job) }
    } else {
      JobInbox.ofProcess.push(job, for: self, on: thread)
    }
  }

  /// Runs it on a thread without a task, which takes the turns of those that wait behind it once it has gone.
  ///
  /// What blocks there is refused as on a thread of the system's for tasks.
  nonisolated func runBesideTasks(_ job: UnownedJob) {
    let thread = ThreadState.current
    thread.takesFirstTurn = true
    run(job)
    thread.takesFirstTurn = false
    thread.laneToDrain.take()?.drainTasks(takesTurns: true)
  }
}

/// A task that is about to wait for its turn, on the thread from which it comes.
struct ComingTask {
  /// The address of the task, and of its job.
  let address: UInt
  let scheduler: Unmanaged<TaskScheduler>
}

extension ThreadState {
  /// The current task is about to come to `TaskTurns`.
  func comes(_ task: TaskScheduler) {
    comingTask = TaskWait.currentTask.map {
      ComingTask(address: $0, scheduler: .passUnretained(task))
    }
  }

  /// That task, if this is its job.
  func takeComing(with job: UnownedJob) -> TaskScheduler? {
    guard let coming = comingTask, coming.address == unsafeBitCast(job, to: UInt.self) else {
      return nil
    }
    comingTask = nil
    return coming.scheduler.takeUnretainedValue()
  }

  /// Whether this thread may take the turns of tasks: it runs no code of a dispatch that others may wait for.
  var mayTakeTurns: Bool {
    !isInSection && turns.isEmpty
      && (!isInside && !DispatchContext.isInTaskOfBlock || isPlanted(.turnOnForeignStack))
  }
}

/// Whether a thread that drains a lane takes the turns of the tasks that are next: for a while.
struct TurnTaking {
  /// A thread that took turns for so long leaves the others to other threads, and the queue its thread.
  private static let nanoseconds: UInt64 = 50_000

  private let thread: ThreadState
  private let isAllowed: Bool
  /// Nil until it is asked for.
  private var may: Bool?
  private var began: UInt64 = 0
  private(set) var hasTaken = false

  init(on thread: ThreadState, isAllowed: Bool) {
    (self.thread, self.isAllowed) = (thread, isAllowed)
  }

  var mayTake: Bool {
    mutating get {
      if let may { return may }
      let mayTake = isAllowed && thread.mayTakeTurns
      (may, began) = (mayTake, now)
      return mayTake
    }
  }

  /// A turn may have been taken; whether it is the first.
  mutating func note() -> Bool {
    guard may == true else { return false }
    may = now - began < Self.nanoseconds
    defer { hasTaken = true }
    return !hasTaken
  }

  private var now: UInt64 {
    thread.simulated == nil ? DispatchTime.now().uptimeNanoseconds : 0
  }
}

/// The order of commits, who writes them, and who waits until they are saved, without threads.
///
/// Commits are numbered as they come. A group is everything up to one number that is not saved yet. One thread at a
/// time has the role of the writer: a job, or a thread that would block otherwise.
struct GroupCommit {
  /// The role of the writer.
  enum Role {
    /// Nobody writes, and nothing is to be written.
    case free
    /// A job will take the role.
    case requested
    case taken
    /// A write is to be tried again once a pause has passed.
    case pausing
  }

  typealias Call = @Sendable (PersistenceError?) -> Void

  /// The actions after a transition, outside of the lock.
  struct Passing {
    var ends: [PendingEnd] = []
    var calls: [Call] = []
    var resumed: [HeldStart] = []
    var errands: [DatabaseErrand] = []
    var error: PersistenceError?
  }

  /// The writer's next work.
  enum Work {
    case errand(DatabaseErrand)
    /// Write everything up to this number.
    case group(UInt64)
    /// End saving with this error.
    case failure(PersistenceError)
    case none
  }

  private(set) var role = Role.free
  /// The number of the last commit, and of the last saved one.
  private(set) var last: UInt64 = 0
  private(set) var saved: UInt64 = 0
  private(set) var failure: PersistenceError?
  /// The error with which saving ends instead of another attempt.
  private(set) var lastAttempt: PersistenceError?
  /// The ends and the calls that wait until commits are saved.
  private(set) var ends = FIFO<PendingEnd>()
  private var calls = FIFO<(commitNumber: UInt64, call: Call, task: SavingWait?)>()
  /// The number of tasks that have given up, whose calls may wait still.
  private var givenUp = 0
  private var order = EndOrder()
  /// The errands, each with the number of the last commit before it.
  private var errands = FIFO<(commitNumber: UInt64, errand: DatabaseErrand)>()
  /// Dispatches that may start once fewer commits are unsaved.
  private(set) var heldBack = WaitingLine<HeldStart>()
  private let limits: PersistenceLimits
  /// The size of the rows of one unsaved commit, estimated from those that were saved last.
  private var bytesPerCommit = 256

  init(_ limits: PersistenceLimits) { self.limits = limits }

  var callCount: Int { calls.count }

  /// The number of commits that are not saved.
  var lag: UInt64 { last - saved }

  private var isFull: Bool {
    lag >= limits.commits || Int(clamping: lag) * bytesPerCommit >= limits.bytes
  }

  private var hasWork: Bool { failure == nil && (last > saved || !errands.isEmpty) }

  // MARK: Commits and those who wait

  /// Numbers a commit.
  mutating func note() { last += 1 }

  /// Enters the end of a dispatch; returns whether it may pass now.
  mutating func enter(_ end: PendingEnd) -> Bool {
    end.commitNumber = last
    end.isSaved =
      last == saved || failure != nil || isPlanted(.endBeforeSaved)
      || last == end.start && isPlanted(.readNotSaved)
    // Nothing was lost if the dispatch has only read what is saved.
    if last > saved, let failure { end.error = .notSaved(failure, isKnown: saved <= end.start) }
    order.enter(end)
    if !end.isSaved { ends.append(end) }
    return end.isSaved && end.missing == 0
  }

  /// Calls back once all commits so far are saved; returns false, with an error if there is one, if they are.
  ///
  /// - Parameter task: The task that waits, if it may give up.
  mutating func wait(
    for task: SavingWait? = nil, _ call: @escaping Call
  ) -> (waits: Bool, error: PersistenceError?) {
    if last == saved { return (false, nil) }
    if let failure { return (false, failure) }
    calls.append((last, call, task))
    return (true, nil)
  }

  /// Notes that a task has given up; removes such calls once they are many, however long the database is away.
  mutating func noteGivenUp() {
    givenUp += 1
    guard givenUp > 64 + calls.count / 2 else { return }
    calls.removeAll { $0.task?.end.isSet == true }
    givenUp = 0
  }

  /// Notes that an end has passed; returns those of its lanes that may pass now.
  mutating func left(_ end: PendingEnd) -> [PendingEnd] { order.left(end) }

  /// Decides whether a dispatch may start.
  mutating func admit(_ start: HeldStart, mayReject: Bool) -> EndGate.Admission {
    guard failure == nil, isFull else { return .starts }
    if limits.rejects, mayReject { return .fails(.tooFarBehind(lag)) }
    heldBack.append(start)
    return .waits
  }

  mutating func forget(_ start: HeldStart) { _ = heldBack.remove(start) }

  /// Adds an errand, to run once everything is saved that was committed before; returns the error if saving has failed.
  mutating func add(_ errand: DatabaseErrand) -> PersistenceError? {
    if let failure { return failure }
    errands.append((last, errand))
    return nil
  }

  /// Removes an errand that has not begun.
  mutating func remove(_ errand: DatabaseErrand) { errands.removeAll { $0.errand === errand } }

  // MARK: The writer

  /// Requests a writer; returns whether the caller is to start a job.
  mutating func request() -> Bool {
    guard role == .free, hasWork else { return false }
    role = .requested
    return true
  }

  /// Takes the role; returns false if another thread has it, or if there is nothing to do.
  mutating func take() -> Bool {
    guard role == .requested || role == .free && hasWork else { return false }
    role = .taken
    return true
  }

  /// Returns the writer's next work; without any, the role is free again.
  mutating func next() -> Work {
    guard hasWork else {
      role = .free
      return .none
    }
    if let lastAttempt { return .failure(lastAttempt) }
    // Commits before the errands that came later: a store that is registered again waits for its rows. Not all
    // commits: if they keep coming, an errand would wait for ever.
    if let first = errands.first, first.commitNumber <= saved || isPlanted(.releasedBeforeDrained) {
      _ = errands.popFirst()
      return .errand(first.errand)
    }
    return .group(last)
  }

  /// Gives the role up before all work is done; returns whether the caller is to start a job.
  mutating func release() -> Bool {
    role = .free
    return isPlanted(.lostGroup) ? false : request()
  }

  /// Gives the role up until a pause has passed; if this was the last attempt, keeps it, and returns the error.
  mutating func pause() -> PersistenceError? {
    if lastAttempt == nil { role = .pausing }
    return lastAttempt
  }

  /// Notes that the pause has passed; returns whether the caller is to start a job.
  mutating func endPause() -> Bool {
    guard role == .pausing else { return false }
    role = .requested
    return true
  }

  /// Lets the writer end saving instead of the next attempt, if there is something to write or under way.
  ///
  /// Returns whether the caller is to start a job.
  mutating func giveUp(_ error: PersistenceError) -> Bool {
    let isBusy = role != .free && !isPlanted(.deafToClosing)
    guard failure == nil, isBusy || hasWork else { return false }
    lastAttempt = error
    guard role == .free || role == .pausing else { return false }
    role = .requested
    return true
  }

  /// Notes that everything up to a number is saved, with rows of this size.
  mutating func didSave(_ commitNumber: UInt64, bytes: Int) -> Passing {
    bytesPerCommit = max(bytes / max(Int(commitNumber - saved), 1), 1)
    saved = commitNumber
    var passing = Passing()
    pass(&passing, upTo: commitNumber)
    // All of them: the turn of one that starts may be far, as in a suspended queue, and must not delay the others.
    if !isFull { resumeHeldBack(&passing) }
    return passing
  }

  /// Ends everything with an error, since saving has failed.
  mutating func fail(_ error: PersistenceError) -> Passing {
    failure = error
    role = .free
    var passing = Passing()
    passing.error = error
    pass(&passing, upTo: .max)
    resumeHeldBack(&passing)
    while let first = errands.popFirst() { passing.errands.append(first.errand) }
    return passing
  }

  private mutating func resumeHeldBack(_ passing: inout Passing) {
    while let start = heldBack.popFirst() { passing.resumed.append(start) }
  }

  private mutating func pass(_ passing: inout Passing, upTo commitNumber: UInt64) {
    while let first = calls.first, first.commitNumber <= commitNumber {
      _ = calls.popFirst()
      passing.calls.append(first.call)
    }
    while let end = ends.first, end.commitNumber <= commitNumber {
      _ = ends.popFirst()
      end.isSaved = true
      if let error = passing.error { end.error = .notSaved(error, isKnown: saved <= end.start) }
      if end.missing == 0 { passing.ends.append(end) }
    }
  }
}

extension DispatchError {
  /// - Parameter isKnown: Whether none of its commits was saved before.
  static func notSaved(_ error: PersistenceError, isKnown: Bool) -> DispatchError {
    let isKnown = error.isOutcomeKnown && isKnown
    let outcome =
      isKnown
      ? "What its stores have committed was not saved"
      : "It is not known whether its commits were saved"
    let cause = PersistenceError(
      error.code, error.message, cause: error.cause, isOutcomeKnown: isKnown)
    return DispatchError(
      code: .persistenceFailed,
      message: """
        \(outcome): \(error.message) Persistent stores run no further action; end the program, and start it again \
        once the cause is gone.
        """, cause: cause, isAfterCommit: true)
  }

  static func tooFarBehind(_ lag: UInt64) -> DispatchError {
    DispatchError(
      code: .limitExceeded,
      message: "\(lag) commits are not saved yet, which is the limit; the dispatch was not started."
    )
  }
}

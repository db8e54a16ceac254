import Synchronization

/// An observer of a task's waits inside the library, which must not keep others waiting for the task meanwhile.
protocol TaskWaitObserver: AnyObject, Sendable {
  func taskBeginsToWait()
  func taskHasWaited()
}

/// The time in which a task waits inside the library, suspended or on a thread that blocks.
///
/// The awaited work may need others that wait for the task, so the task's observers let these go on. A task is known
/// by its address until its observer is removed, also if it has ended and another one has got the address: the task
/// can't be kept, since an `async let` lies in its parent's memory. Its child tasks are other tasks.
struct TaskWait {
  private let observers: [any TaskWaitObserver]

  /// Begins the wait of the current task; returns nil if no observer has to know.
  ///
  /// - Parameter awaited: An observer for which the task itself waits; it is not notified.
  static func begin(for awaited: (any TaskWaitObserver)? = nil) -> TaskWait? {
    guard TaskWaitTable.count.load(ordering: .relaxed) > 0, let task = currentTask else {
      return nil
    }
    let observers = TaskWaitTable.observers.withLockOfProcess { $0[task] ?? [] }
      .filter { $0 !== awaited }
    if observers.isEmpty { return nil }
    for observer in observers { observer.taskBeginsToWait() }
    return TaskWait(observers: observers)
  }

  /// Suspends the current task until a closure is called, which `register` gets.
  nonisolated(nonsending) static func suspend(
    until register: (@escaping @Sendable () -> Void) -> Void
  ) async {
    let wait = begin()
    await withUnsafeContinuation { continuation in
      register { continuation.resume() }
    }
    wait?.end()
  }

  func end() {
    for observer in observers { observer.taskHasWaited() }
  }

  /// The address of the current task.
  static var currentTask: UInt? {
    withUnsafeCurrentTask { task in task.map { unsafeBitCast($0, to: UInt.self) } }
  }
}

/// The observers of tasks; code outside of tasks, and processes without observers, pay nothing for them.
enum TaskWaitTable {
  fileprivate static let count = Atomic(0)
  fileprivate static let observers = Locked<[UInt: [any TaskWaitObserver]]>([:])

  static func add(_ observer: any TaskWaitObserver, to task: UInt) {
    count.add(1, ordering: .relaxed)
    observers.withLockOfProcess { $0[task, default: []].append(observer) }
  }

  static func remove(_ observer: any TaskWaitObserver, from task: UInt) {
    let removed = observers.withLockOfProcess { observers in
      let present = observers[task] ?? []
      let kept = present.filter { $0 !== observer }
      observers[task] = kept.isEmpty ? nil : kept
      return present.count - kept.count
    }
    count.subtract(removed, ordering: .relaxed)
  }
}

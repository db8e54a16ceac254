/// The start of a dispatch that begins later than it is made.
///
/// Admission control makes it, and decides when that is.
protocol DelayedStart: AnyObject, Sendable {
  /// Announces the dispatch, and begins it once its time has come, unless it has ended before.
  ///
  /// Begins it in the task that sends it, if there is one; else on the concurrent queue, or here for `.sync`.
  func begin(
    _ admitted: AdmittedDispatch, _ subject: DispatchSubject, by dispatcher: Dispatcher,
    in task: TaskScheduler?, on thread: ThreadState)
}

extension Dispatcher {
  /// Prepares a dispatch to be shared before its scheduler has it.
  ///
  /// If it ends meanwhile, it does so on a thread of the library. With `.sync` it ends on its caller's thread, and if
  /// a task sends it, in that task.
  func makeKnown(_ dispatch: Dispatch, _ mode: Mode, on thread: ThreadState) {
    let details = dispatch.makeDetails()
    if details.scheduler != nil { return }
    if mode.isSync {
      dispatch.leaveScheduler()
      details.scheduler = SyncLoop(on: thread, of: self)
      dispatch.outer = DispatchContext.blocked(on: thread)
    } else {
      details.scheduler = pool
    }
  }
}

/// Keeps the reply of a store for the code that runs here, until its dispatch ends.
///
/// A dispatch without replies needs no record. One with a reply has details, because other threads may reply, too.
@usableFromInline
enum ReplyRecord {
  /// Notes a reply of a store; without an identifier, of the one whose reducer runs here.
  @inlinable
  static func note<Reply: Sendable>(
    _ reply: Reply, of storeIdentifier: @autoclosure () -> String? = nil
  ) {
    if Reply.self != Void.self { noteValue(reply, of: storeIdentifier()) }
  }

  @usableFromInline
  static func noteValue(_ reply: any Sendable, of storeIdentifier: String?) {
    guard let storeIdentifier = storeIdentifier ?? runningStore else { return }
    let thread = ThreadState.current
    // No record is made in an exclusive section.
    guard thread.exclusive == nil else {
      thread.atomic?.pointee.note(reply, of: storeIdentifier)
      return thread.atSectionEnd { isUndone in
        if !isUndone { keep(reply, of: storeIdentifier, on: thread) }
      }
    }
    keep(reply, of: storeIdentifier, on: thread)
  }

  private static func keep(
    _ reply: any Sendable, of storeIdentifier: String, on thread: ThreadState
  ) {
    let dispatch =
      (isPlanted(.outerReply) ? nil : thread.run?.pointee.makeRecord(on: thread))
      ?? DispatchContext.cause(on: thread)?.dispatch
    dispatch?.makeDetails().keep(reply, of: storeIdentifier)
  }

  /// The identifier of the store whose reducer runs here.
  static var runningStore: String? {
    let thread = ThreadState.current
    if let exclusive = thread.exclusive { return exclusive.identifier }
    if let run = thread.run { return run.pointee.storeIdentifier }
    return DispatchContext.cause(on: thread)?.owner?.storeIdentifier
  }
}

extension Reducer {
  /// Replies to the caller that dispatched the action of `apply(_:to:)` or `reduce(into:action:)`.
  ///
  /// The last reply counts. The caller gets it if the store finishes in the same attempt. Outside of a dispatch it has
  /// no effect.
  public final func reply(_ reply: Action.Reply) {
    ReplyRecord.note(reply)
  }
}

extension RunningOperation {
  /// Ends the operation as finished, with a reply to the caller that dispatched its action.
  ///
  /// Otherwise the same as `finish()`.
  public func finish(with reply: Action.Reply) {
    operation.finish(keeping: reply)
  }
}

extension ActionOperation {
  /// Ends the operation as finished, once its reply is kept.
  ///
  /// Ignored with its reply if another finish came first.
  fileprivate func finish(keeping reply: Action.Reply) {
    yieldPoint(.finish, store.identifier)
    let (isFirst, owner) = withState { ($0.life.beginReply(), $0.commitOwner) }
    guard isFirst else { return finish() }
    owner?.waiting?.makeDetails().keep(reply, of: store.identifier)
    yieldPoint(.finish, store.identifier)
    returned(nil)
  }
}

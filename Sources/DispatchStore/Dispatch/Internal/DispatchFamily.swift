/// What a dispatch is linked with: the one whose block has dispatched it, and those that its own blocks have.
///
/// Of the details, not of the record, which may be used again while these are in flight. One that is over stays linked
/// as long as something that its blocks have dispatched is not: so a cancellation reaches that.
final class DispatchFamily: @unchecked Sendable {
  // because the lock of the details guards it
  var parent: DispatchDetails?
  var children: [ObjectIdentifier: Dispatch] = [:]
}

/// What a block passes on to what it dispatches.
struct Inheritance {
  var isCancelled = false
  var hasTimedOut = false
  /// In nanoseconds of the clock of its dispatcher.
  var deadline: Int64?
}

extension Dispatch {
  /// It runs on its caller's thread, and begins to wait: where that is in a block, it is cancelled with that.
  @inline(never)
  func joinBlock(on thread: ThreadState) {
    link(to: DispatchContext.linkedBlock(from: thread.run, on: thread))
  }

  /// It runs in its caller's task, and its block dispatches something: that belongs to the block around it, too.
  func linkToCaller() {
    guard scheduler.isTask, mayLink, let outer, outer.passesOn else { return }
    outer.dispatch.linkToCaller()
    link(to: outer.dispatch)
  }

  /// Whether it has not joined another one, and may.
  var mayLink: Bool { details.map { !$0.isDetached && !$0.hasParent } ?? true }

  /// It runs in a block of another dispatch, and joins that, unless it has joined one.
  func link(to block: Dispatch?) {
    guard let block, mayLink else { return }
    let around = block.makeDetails()
    makeDetails().put(around: around, passing: around.inheritedDeadline)
    join(block)
  }

  /// What the blocks of a step, which has ended, have dispatched is cancelled with its sequence, which this is.
  @inline(never)
  func join(_ step: Dispatch, _ ended: DispatchDetails, _ details: DispatchDetails) {
    guard let inheritance = details.adopt(step, ended) else { return }
    ended.enter(familyOf: details)
    if inheritance.isCancelled { step.cancel(timedOut: inheritance.hasTimedOut, after: .zero) }
  }

  /// It is cancelled with the dispatch whose block has made it, from now on.
  func join(_ parent: Dispatch) {
    yieldPoint(.adopt, id.description)
    // One that has ended in the meantime stands for what its own blocks have dispatched.
    if isOver, details?.hasChildren != true { return }
    let (family, details) = (parent.makeDetails(), makeDetails())
    guard let inheritance = family.adopt(self, details) else { return }
    details.enter(familyOf: family)
    if inheritance.isCancelled { cancel(timedOut: inheritance.hasTimedOut, after: .zero) }
  }

  /// The dispatch whose block has made it, or what led to that, was cancelled.
  func cancel(timedOut: Bool, after duration: Duration) {
    if timedOut {
      timeOut(details?.withState(\.limit)?.deadline.duration ?? duration)
    } else {
      cancel()
    }
    // One that was about to end by then is not cancelled, and so passes nothing on itself.
    guard let details, details.withState(\.isEnding) else { return }
    for child in details.children { child.cancel(timedOut: timedOut, after: duration) }
  }

  /// Cancels what its blocks have dispatched, as itself was.
  func cancelChildren() {
    guard let details else { return }
    let (hasTimedOut, limit) = details.withState { ($0.refusal != nil, $0.limit) }
    for child in details.children {
      child.cancel(timedOut: hasTimedOut, after: limit?.deadline.duration ?? .zero)
    }
  }
}

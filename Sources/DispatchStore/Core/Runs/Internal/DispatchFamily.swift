import Synchronization

/// A member of a family that can be cancelled: a dispatch, or a follower of one.
protocol FamilyMember: AnyObject, Sendable {
  /// Cancels this member alone. Returns whether its descendants are to be cancelled, too.
  func cancelAlone(timedOut: Bool, after duration: Duration) -> Bool
}

/// The links of a dispatch: to its parent, and to its children.
///
/// The parent is the dispatch whose block made it, or the one that it follows.
///
/// Links belong to the details, not to the record. Cancellation goes along them, and `settled()` waits until the
/// dispatch has no children. A finished dispatch keeps its links only while it has two children or more, or a handle
/// refers to it. Otherwise it hands its only child on to its parent. So there are at most twice as many links as
/// running dispatches and handles.
final class DispatchFamily: @unchecked Sendable {
  // because the lock of the details guards it
  struct Child: Sendable {
    let id: DispatchID
    let details: DispatchDetails
    /// The dispatch or follower; nil once it is over, and the link stands only for its own children.
    var member: (any FamilyMember)?
    /// Whether this is a follower, which continues after the dispatch and is not cancelled with it.
    var follows = false
    var number = 0
  }

  var parent: DispatchDetails?
  fileprivate(set) var children: [ObjectIdentifier: Child] = [:]
  /// Whether later followers of the dispatch and of its descendants are refused.
  var refusesFollowers = false
  /// Called once the dispatch and all of its descendants are over.
  var waiters: [@Sendable () -> Void] = []
  private var lastNumber = 0

  fileprivate func insert(_ child: Child) {
    lastNumber += 1
    var child = child
    child.number = lastNumber
    children[ObjectIdentifier(child.details)] = child
  }

  /// The children in the order of their identifiers, and then of their arrival.
  var sortedChildren: [Child] {
    children.values.sorted { ($0.id, $0.number) < ($1.id, $1.number) }
  }
}

/// The state that a new dispatch inherits from the dispatch of its block.
///
/// A follower ignores `isCancelled`.
struct Inheritance {
  var isCancelled = false
  var hasTimedOut = false
  /// Whether its followers and descendants were cancelled.
  var refusesFollowers = false
}

extension Dispatch: FamilyMember {
  /// Links the dispatch, which runs in its caller's task, to the enclosing block before its own block dispatches
  /// something.
  func linkToCaller() {
    var unlinked: [(Dispatch, to: Dispatch)] = []
    var next = self
    while next.scheduler.isTask, next.mayLink, let outer = next.outer, outer.passesOn {
      unlinked.append((next, outer.dispatch))
      next = outer.dispatch
    }
    for (dispatch, outer) in unlinked.reversed() { dispatch.link(to: outer) }
  }

  /// Whether it may still join another dispatch.
  var mayLink: Bool { details.map { !$0.isDetached && !$0.hasParent } ?? true }

  /// Links the dispatch to the block that it runs in, unless it has already joined one.
  func link(to block: @autoclosure () -> Dispatch?) {
    guard mayLink, let block = block() else { return }
    let deadline = block.makeDetails().inheritedDeadline
    makeDetails().withState { $0.linkedDeadline = deadline }
    join(block)
  }

  /// Joins the dispatch whose block made it, and is cancelled with that from now on.
  ///
  /// - Parameter follows: Whether it only follows that dispatch, and is not cancelled with it. If nothing is to follow
  ///   that any longer, nothing follows this one either.
  func join(_ parent: Dispatch, follows: Bool = false) {
    yieldPoint(.adopt, id.description)
    // If it has ended meanwhile, it represents its own children.
    if isOver, details?.hasChildren != true { return }
    let details = makeDetails()
    let child = DispatchFamily.Child(id: id, details: details, member: self, follows: follows)
    if !parent.makeDetails().adopt(child), follows { details.refuseFollowers() }
  }

  /// Takes over the children of an action of this sequence that has ended, so that they are cancelled with the
  /// sequence.
  @inline(never)
  func adopt(_ step: Dispatch) {
    guard let ended = step.details, ended.hasChildren else { return }
    makeDetails().adopt(.init(id: step.id, details: ended))
  }

  /// The sequence of which this is one action, or else the dispatch itself.
  ///
  /// Call it on a thread that runs code of the dispatch, whose outer context is constant meanwhile.
  var whole: Dispatch {
    if isStep, let whole = outer?.dispatch, whole.id == parent { whole } else { self }
  }

  func cancelAlone(timedOut: Bool, after duration: Duration) -> Bool {
    let isCancelled =
      timedOut
      ? timeOutAlone(details?.withState(\.limit)?.deadline.duration ?? duration)
      : cancelAlone(decide { $0.cancel() })
    // A dispatch that was about to end is not cancelled, and its children must be.
    return isCancelled || details?.withState(\.isEnding) == true
  }

  /// Cancels the dispatches that its blocks made, for the same reason as the dispatch itself.
  func cancelChildren() {
    guard let details else { return }
    let (hasTimedOut, limit) = details.withState { ($0.refusal != nil, $0.limit) }
    details.cancelChildren(timedOut: hasTimedOut, after: limit?.deadline.duration ?? .zero)
  }
}

// Locks are acquired from parent to child. No deadlock is possible, because an ancestor never becomes a descendant.
extension DispatchDetails {
  var hasParent: Bool { withState { $0.family?.parent != nil } }
  var hasChildren: Bool { withState { $0.family?.children.isEmpty == false } }

  /// Whether later followers are refused.
  var refusesFollowers: Bool { withState { $0.family?.refusesFollowers == true } }

  /// Refuses later followers; returns whether they were refused before: its descendants have then been cancelled.
  @discardableResult
  func refuseFollowers() -> Bool {
    withState { state in
      let family = state.family.madeIfNil(DispatchFamily())
      defer { family.refusesFollowers = true }
      return family.refusesFollowers
    }
  }

  // MARK: Coming

  /// Adds a child; returns false, without an effect, if the dispatch is over or refuses followers.
  @discardableResult
  func adopt(_ child: DispatchFamily.Child) -> Bool {
    let inheritance = withState { state -> Inheritance? in
      if child.follows ? state.family?.refusesFollowers == true : state.isOver { return nil }
      if !child.follows, isPlanted(.lostChild) { return nil }
      let family = state.family.madeIfNil(DispatchFamily())
      child.details.withState { $0.family.madeIfNil(DispatchFamily()).parent = self }
      family.insert(child)
      return state.inheritance
    }
    guard let inheritance else { return false }
    child.pass(inheritance)
    // The child may have ended meanwhile.
    child.details.leaveFamily()
    return true
  }

  // MARK: Cancelling

  /// Cancels its descendants, without followers unless you ask for those.
  func cancelChildren(
    timedOut: Bool = false, after duration: Duration = .zero, withFollowers: Bool = false
  ) {
    let children = withState { $0.family?.sortedChildren ?? [] }
    DispatchFamily.cancel(children, timedOut, after: duration, withFollowers)
  }
}

extension DispatchFamily {
  fileprivate static func cancel(
    _ children: [Child], _ timedOut: Bool, after duration: Duration, _ withFollowers: Bool
  ) {
    var rest = children.reversed() as [Child]
    while let child = rest.popLast() {
      if withFollowers ? child.details.refuseFollowers() : child.follows { continue }
      let isCancelled = child.member?.cancelAlone(timedOut: timedOut, after: duration) ?? true
      guard isCancelled || withFollowers else { continue }
      rest += child.details.withState { $0.family?.sortedChildren.reversed() ?? [] }
    }
  }
}

extension DispatchFamily.Child {
  /// Applies the state of a new parent to this child.
  fileprivate func pass(_ inheritance: Inheritance) {
    if inheritance.isCancelled {
      DispatchFamily.cancel([self], inheritance.hasTimedOut, after: .zero, false)
    }
    if inheritance.refusesFollowers { DispatchFamily.cancel([self], false, after: .zero, true) }
  }
}

// MARK: - Leaving

/// The effects of changed links, to apply once no lock is held.
private struct FamilyChange {
  var released: [DispatchFamily.Child] = []
  var waiters: [@Sendable () -> Void] = []
  /// The child that was handed on, and the state that it inherits.
  var moved: (DispatchFamily.Child, Inheritance)?
  /// The details that may have to leave, too.
  var next: [DispatchDetails] = []
}

extension DispatchDetails {
  /// Leaves the family or hands on its links, if the dispatch is over.
  ///
  /// Then lets relatives leave that are no longer needed.
  @inline(never)
  func leaveFamily() {
    // A record released under a lock has not handed on its links.
    var rest = withState { [$0.family?.parent, self].compactMap(\.self) }
    while let details = rest.popLast() {
      let change = details.leave(waits: true)
      if let (child, inheritance) = change.moved { child.pass(inheritance) }
      resume(change.waiters)
      rest += change.next
    }
  }

  /// Notes that the dispatch is over and no handle refers to it.
  ///
  /// This thread may hold a lock, so it waits for none. If a lock is not free, the end of a relative does the work
  /// later.
  func recordIsGone() {
    hasNoRecord.store(true, ordering: .sequentiallyConsistent)
    var rest = [self]
    while let details = rest.popLast() { rest += details.leave(waits: false).next }
  }

  private var isAbandoned: Bool { hasNoRecord.load(ordering: .sequentiallyConsistent) }

  private func lock<Result>(
    _ waits: Bool, _ body: (inout DispatchState) -> Result?
  ) -> Result? {
    waits ? withState(body) : withStateIfFree(body) ?? nil
  }

  private func leave(waits: Bool) -> FamilyChange {
    repeat {
      guard let parent = lock(waits, { .some($0.family?.parent) }) else { break }
      if let change = parent.map({ leave($0, waits) }) ?? leaveAsRoot(waits) { return change }
      // Tries again with the new parent, which it got meanwhile.
    } while waits
    return FamilyChange()
  }

  /// Releases children that only a handle of this dispatch can reach.
  private func leaveAsRoot(_ waits: Bool) -> FamilyChange? {
    lock(waits) { state in
      var change = FamilyChange()
      guard let family = state.family, state.isOver else { return change }
      guard family.parent == nil else { return nil }
      if isAbandoned {
        for (key, child) in family.children {
          let isFree: Bool? = child.details.lock(waits) { own in
            own.family?.parent = nil
            return true
          }
          if isFree == true { change.released.append(family.children.removeValue(forKey: key)!) }
        }
        change.next = change.released.map(\.details)
      }
      // A record that is released calls nothing. The thread that has ended the last of them comes here, too.
      if waits, family.children.isEmpty { swap(&change.waiters, &family.waiters) }
      return change
    }
  }

  private func leave(_ parent: DispatchDetails, _ waits: Bool) -> FamilyChange? {
    parent.lock(waits) { parentState in
      lock(waits) { state in
        guard let around = parentState.family, let family = state.family, family.parent === parent
        else { return nil }
        var change = FamilyChange()
        guard state.isOver else { return change }
        let (key, only) = (ObjectIdentifier(self), family.children.first)
        guard family.children.isEmpty || family.children.count == 1 && isAbandoned
        else {
          if let child = around.children[key], child.member != nil {
            change.released = [child]
            around.children[key]?.member = nil
          }
          return change
        }
        if let (_, child) = only {
          var child = child
          child.follows = child.follows || around.children[key]?.follows == true
          let inheritance = parentState.inheritance
          // Cancelling calls foreign code.
          let cancels = inheritance.isCancelled && !child.follows || inheritance.refusesFollowers
          if !waits, cancels { return nil }
          let isFree: Bool? = child.details.lock(waits) { own in
            own.family?.parent = isPlanted(.lostFollowUp) ? nil : parent
            return true
          }
          guard isFree == true else { return nil }
          if !isPlanted(.lostFollowUp) { around.insert(child) }
          change.moved = (child, inheritance)
          family.children = [:]
        } else {
          if !waits { return nil }
          swap(&change.waiters, &family.waiters)
        }
        if let own = around.children.removeValue(forKey: key) { change.released.append(own) }
        family.parent = nil
        change.next = [parent]
        return change
      }
    }
  }
}

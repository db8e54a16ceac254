import Synchronization

/// What can be cancelled of a family: a dispatch, or what follows one.
protocol FamilyMember: AnyObject, Sendable {
  /// Cancels it; whether what it has led to is to be cancelled, too.
  func cancelAlone(timedOut: Bool, after duration: Duration) -> Bool
}

/// The links of a dispatch: with the one whose block has made it, or that it follows, and with those that it has led to.
///
/// Of the details, not of the record. A cancellation goes through them, and `settled` waits until none leads down. A
/// dispatch that is over keeps its links only while it has at least two below it, or a handle refers to it: else it
/// hands on its only one. So there are never more links than twice as many as dispatches in flight and handles.
final class DispatchFamily: @unchecked Sendable {
  // because the lock of the details guards it
  struct Child: Sendable {
    let id: TransactionID
    let details: DispatchDetails
    /// Nil once that is over, and stands only for what it has led to.
    var member: (any FamilyMember)?
    /// Whether it goes on after the dispatch, which is cancelled without it.
    var follows = false
    var number = 0
  }

  var parent: DispatchDetails?
  fileprivate(set) var children: [ObjectIdentifier: Child] = [:]
  /// Whether nothing is to follow the dispatch, nor what it has led to.
  var refusesFollowers = false
  /// Called once the dispatch is over, and so is all that it has led to.
  var waiters: [@Sendable () -> Void] = []
  private var lastNumber = 0

  fileprivate func insert(_ child: Child) {
    lastNumber += 1
    var child = child
    child.number = lastNumber
    children[ObjectIdentifier(child.details)] = child
  }

  /// In the order of their transactions, and of their coming.
  var sortedChildren: [Child] {
    children.values.sorted { ($0.id, $0.number) < ($1.id, $1.number) }
  }
}

/// What a dispatch passes on to what its block dispatches.
struct Inheritance {
  var isCancelled = false
  var hasTimedOut = false
  /// Whether what follows it, and what it has led to, was cancelled.
  var refusesFollowers = false
}

extension Dispatch: FamilyMember {
  /// It runs on its caller's thread, and begins to wait: where that is in a block, it is cancelled with that.
  @inline(never)
  func joinBlock(on thread: ThreadState) {
    link(to: DispatchContext.linkedBlock(from: thread.run, on: thread))
  }

  /// It runs in its caller's task, and its block dispatches something: that belongs to the block around it, too.
  func linkToCaller() {
    var unlinked: [(Dispatch, to: Dispatch)] = []
    var next = self
    while next.scheduler.isTask, next.mayLink, let outer = next.outer, outer.passesOn {
      unlinked.append((next, outer.dispatch))
      next = outer.dispatch
    }
    for (dispatch, outer) in unlinked.reversed() { dispatch.link(to: outer) }
  }

  /// Whether it has not joined another one, and may.
  var mayLink: Bool { details.map { !$0.isDetached && !$0.hasParent } ?? true }

  /// It runs in a block of another dispatch, and joins that, unless it has joined one.
  func link(to block: @autoclosure () -> Dispatch?) {
    guard mayLink, let block = block() else { return }
    makeDetails().linkedDeadline = block.makeDetails().inheritedDeadline
    join(block)
  }

  /// It is cancelled with the dispatch whose block has made it, from now on.
  func join(_ parent: Dispatch) {
    yieldPoint(.adopt, id.description)
    // One that has ended in the meantime stands for what it has led to.
    if isOver, details?.hasChildren != true { return }
    let details = makeDetails()
    parent.makeDetails().adopt(.init(id: id, details: details, member: self))
  }

  /// An action of a sequence has ended, which this is: what its blocks have dispatched is cancelled with the sequence.
  @inline(never)
  func adopt(_ step: Dispatch) {
    guard let ended = step.details, ended.hasChildren else { return }
    makeDetails().adopt(.init(id: step.id, details: ended))
  }

  /// The dispatch of which it is a part: of one action of a sequence, the whole; on the thread that runs it.
  var whole: Dispatch {
    if isStep, let whole = outer?.dispatch, whole.id == parent { whole } else { self }
  }

  func cancelAlone(timedOut: Bool, after duration: Duration) -> Bool {
    let isCancelled =
      timedOut
      ? timeOutAlone(details?.withState(\.limit)?.deadline.duration ?? duration)
      : cancelAlone { $0.cancel() }
    // One that was about to end by then is not cancelled, and so passes nothing on itself.
    return isCancelled || details?.withState(\.isEnding) == true
  }

  /// Cancels what its blocks have dispatched, as itself was.
  func cancelChildren() {
    guard let details else { return }
    let (hasTimedOut, limit) = details.withState { ($0.refusal != nil, $0.limit) }
    details.cancelChildren(timedOut: hasTimedOut, after: limit?.deadline.duration ?? .zero)
  }

  /// Cancels it, what its blocks have dispatched, and what goes on after that.
  func cancelWithFollowers() {
    let details = makeDetails()
    details.refuseFollowers()
    cancel()
    details.cancelChildren(withFollowers: true)
  }

  /// Calls back once it is over, and so is all that it has led to: at once where that is so, else on a thread that ends
  /// a part of it.
  func whenSettled(_ body: @escaping @Sendable () -> Void) {
    if !makeDetails().waitUntilSettled(body) { body() }
  }
}

// Locks are taken from parents to children. So no two threads wait for each other: a parent never becomes a child of
// what it was above.
extension DispatchDetails {
  var hasParent: Bool { withFamily { family, _ in family?.parent != nil } }
  var hasChildren: Bool { withFamily { family, _ in family?.children.isEmpty == false } }

  private var sortedChildren: [DispatchFamily.Child] {
    withFamily { family, _ in family?.sortedChildren ?? [] }
  }

  /// Whether that was so before: what it has led to is cancelled then.
  @discardableResult
  func refuseFollowers() -> Bool {
    withFamily { family, _ in
      let present = family ?? DispatchFamily()
      defer { present.refusesFollowers = true }
      family = present
      return present.refusesFollowers
    }
  }

  /// Whether the closure will be called.
  func waitUntilSettled(_ waiter: @escaping @Sendable () -> Void) -> Bool {
    withFamily { family, life in
      if life.isOver, family?.children.isEmpty != false { return false }
      family = family ?? DispatchFamily()
      family?.waiters.append(waiter)
      return true
    }
  }

  // MARK: Coming

  /// Links it with something that it has led to; false, and nothing done, where it is over, or nothing is to follow it.
  @discardableResult
  func adopt(_ child: DispatchFamily.Child) -> Bool {
    let inheritance = withFamily { family, life -> Inheritance? in
      if child.follows ? family?.refusesFollowers == true : life.isOver { return nil }
      if !child.follows, isPlanted(.lostChild) { return nil }
      let present = family ?? DispatchFamily()
      family = present
      child.details.withFamily { own, _ in
        own = own ?? DispatchFamily()
        own?.parent = self
      }
      present.insert(child)
      return self.inheritance(present, life, for: child)
    }
    guard let inheritance else { return false }
    child.pass(inheritance, after: .zero)
    // It may have ended meanwhile.
    child.details.leaveFamily()
    return true
  }

  private func inheritance(
    _ family: DispatchFamily, _ life: DispatchState, for child: DispatchFamily.Child
  ) -> Inheritance {
    Inheritance(
      isCancelled: life.isCancelled && !child.follows, hasTimedOut: life.refusal != nil,
      refusesFollowers: family.refusesFollowers)
  }

  // MARK: Cancelling

  /// Cancels what it has led to; without what follows a dispatch, unless that is asked for.
  func cancelChildren(
    timedOut: Bool = false, after duration: Duration = .zero, withFollowers: Bool = false
  ) {
    DispatchFamily.cancel(sortedChildren, timedOut, after: duration, withFollowers)
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
      rest += child.details.withFamily { family, _ in family?.sortedChildren.reversed() ?? [] }
    }
  }
}

extension DispatchFamily.Child {
  /// It has got a parent to which this has happened.
  fileprivate func pass(_ inheritance: Inheritance, after duration: Duration) {
    if inheritance.isCancelled {
      DispatchFamily.cancel([self], inheritance.hasTimedOut, after: duration, false)
    }
    if inheritance.refusesFollowers { DispatchFamily.cancel([self], false, after: duration, true) }
  }
}

// MARK: - Leaving

/// What a change of links leads to, once no lock is held.
private struct FamilyChange {
  var released: [DispatchFamily.Child] = []
  var waiters: [@Sendable () -> Void] = []
  /// What was handed on, and what that inherits.
  var moved: (DispatchFamily.Child, Inheritance)?
  /// What may have to leave, too.
  var next: [DispatchDetails] = []
}

extension DispatchDetails {
  /// Leaves its family, or hands on its links, where it is over; then those do that need it no longer.
  @inline(never)
  func leaveFamily() {
    // A record that was released under a lock has not handed on what it is linked with.
    var rest = withFamily { family, _ in [family?.parent, self].compactMap(\.self) }
    while let details = rest.popLast() {
      let change = details.leave(waits: true)
      if let (child, inheritance) = change.moved { child.pass(inheritance, after: .zero) }
      resume(change.waiters)
      rest += change.next
    }
  }

  /// No handle refers to the dispatch any longer, and it runs no more.
  ///
  /// Possibly while this thread has locked something: so it waits for no lock. Where one is not free, the end of what it
  /// is linked with does the same.
  func recordIsGone() {
    hasNoRecord.store(true, ordering: .sequentiallyConsistent)
    var rest = [self]
    while let details = rest.popLast() { rest += details.leave(waits: false).next }
  }

  private var isAbandoned: Bool { hasNoRecord.load(ordering: .sequentiallyConsistent) }

  private func lock<Result>(
    _ waits: Bool, _ body: (inout DispatchFamily?, inout DispatchState) -> Result?
  ) -> Result? {
    waits ? withFamily(body) : withFamilyIfFree(body) ?? nil
  }

  private func leave(waits: Bool) -> FamilyChange {
    repeat {
      guard let parent = lock(waits, { family, _ in .some(family?.parent) }) else { break }
      if let change = parent.map({ leave($0, waits) }) ?? leaveAsRoot(waits) { return change }
      // It has got another parent meanwhile.
    } while waits
    return FamilyChange()
  }

  /// Nothing can reach what it is linked with but by its handle.
  private func leaveAsRoot(_ waits: Bool) -> FamilyChange? {
    lock(waits) { family, life in
      guard let family, life.isOver else { return FamilyChange() }
      guard family.parent == nil else { return nil }
      var change = FamilyChange()
      if isAbandoned {
        for (key, child) in family.children {
          let isFree: Bool? = child.details.lock(waits) { family, _ in
            family?.parent = nil
            return true
          }
          if isFree == true { change.released.append(family.children.removeValue(forKey: key)!) }
        }
        change.next = change.released.map(\.details)
      }
      if family.children.isEmpty { swap(&change.waiters, &family.waiters) }
      return change
    }
  }

  private func leave(_ parent: DispatchDetails, _ waits: Bool) -> FamilyChange? {
    parent.lock(waits) { around, aroundLife in
      lock(waits) { family, life in
        guard let around, let family, family.parent === parent else { return nil }
        guard life.isOver else { return FamilyChange() }
        let (key, only) = (ObjectIdentifier(self), family.children.first)
        guard family.children.isEmpty || family.children.count == 1 && isAbandoned
        else {
          var change = FamilyChange()
          if var child = around.children[key], child.member != nil {
            change.released = [child]
            child.member = nil
            around.children[key] = child
          }
          return change
        }
        var change = FamilyChange()
        if let (_, child) = only {
          var child = child
          child.follows = child.follows || around.children[key]?.follows == true
          let inheritance = parent.inheritance(around, aroundLife, for: child)
          // Cancelling calls other code.
          if !waits, inheritance.isCancelled || inheritance.refusesFollowers { return nil }
          let isFree: Bool? = child.details.lock(waits) { own, _ in
            own?.parent = isPlanted(.lostFollowUp) ? nil : parent
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

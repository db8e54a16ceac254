import Synchronization

/// A part of what goes on after a dispatch.
protocol FollowUpPart: AnyObject, Sendable {
  func cancel()
}

/// What goes on after a dispatch has ended, on its account.
///
/// Where the dispatch was made in a block of another one, in a sequence, or by what follows another one, it is a part
/// of what goes on after that, unless no code can wait for that any longer: its record is gone. So a chain of actions
/// that has no end grows no chain of accounts.
final class FollowUp: FollowUpPart {
  typealias Ticket = UInt64

  private let state: Locked<State>
  /// Whether there is a dispatch whose account it is.
  private let isOwned = Atomic(true)

  private struct State {
    weak var around: FollowUp?
    /// By ticket: in the order in which they began.
    var parts: [Ticket: any FollowUpPart] = [:]
    var last: Ticket = 0
    /// While there are parts: of this one in what is around it.
    var outer: (followUp: FollowUp, ticket: Ticket)?
    var isCancelled = false
    var waiters: [@Sendable () -> Void] = []
  }

  init(in around: FollowUp?) {
    var around = around
    while let present = around, !present.isOwned.load(ordering: .acquiring) {
      around = present.state.withLock(\.around)
    }
    state = Locked(State(around: around))
  }

  /// The account of a dispatch: the details refer to it, or those of what stands for a part of it.
  final class Owner: Sendable {
    let followUp: FollowUp
    private let isOwner: Bool

    init(_ followUp: FollowUp, isOwner: Bool) {
      self.followUp = followUp
      self.isOwner = isOwner
    }

    deinit {
      if isOwner { followUp.isOwned.store(false, ordering: .releasing) }
    }
  }

  /// A part begins; nil where all was cancelled.
  func begin(_ part: any FollowUpPart) -> Ticket? {
    state.withLock { state in
      if state.isCancelled { return nil }
      if state.parts.isEmpty, let around = state.around, !isPlanted(.lostFollowUp) {
        // In that order: from inside to outside.
        guard let ticket = around.begin(self) else { return nil }
        state.outer = (around, ticket)
      }
      state.last += 1
      state.parts[state.last] = part
      return state.last
    }
  }

  /// A part has ended, and all that it has dispatched.
  func end(_ ticket: Ticket) {
    var next: (followUp: FollowUp, ticket: Ticket)? = (self, ticket)
    while let (followUp, ticket) = next {
      let ended = followUp.remove(ticket)
      for waiter in ended.waiters { waiter() }
      next = ended.outer
    }
  }

  /// What is to be done after a part's end; the part is released outside the lock.
  private struct Ended {
    let part: (any FollowUpPart)?
    var waiters: [@Sendable () -> Void] = []
    var outer: (followUp: FollowUp, ticket: Ticket)?
  }

  private func remove(_ ticket: Ticket) -> Ended {
    state.withLock { state in
      let part = state.parts.removeValue(forKey: ticket)
      guard state.parts.isEmpty else { return Ended(part: part) }
      defer { state.waiters = [] }
      return Ended(part: part, waiters: state.waiters, outer: state.outer.take())
    }
  }

  /// Calls back once no part goes on: at once where none does, else on the thread that ends the last one.
  func whenEnded(_ body: @escaping @Sendable () -> Void) {
    let isWaiting = state.withLock { state in
      if !state.parts.isEmpty { state.waiters.append(body) }
      return !state.parts.isEmpty
    }
    if !isWaiting { body() }
  }

  /// Cancels all parts; none begins from now on.
  func cancel() {
    let parts = state.withLock { state in
      state.isCancelled = true
      return state.parts.sorted { $0.key < $1.key }.map(\.value)
    }
    for part in parts { part.cancel() }
  }
}

extension Dispatch {
  /// Calls back once it is over, with all that its blocks have dispatched and all that goes on after that.
  ///
  /// At once where that is so, else on a thread that ends a part of it.
  func whenSettled(_ body: @escaping @Sendable () -> Void) {
    whenAllOver {
      // What follows its blocks' dispatches has begun there before these were over.
      if let followUp = self.details?.followUp { followUp.whenEnded(body) } else { body() }
    }
  }

  /// Calls back once it is over, and so is all that its blocks have dispatched.
  func whenAllOver(_ body: @escaping @Sendable () -> Void) {
    whenOver {
      // None is added from here on, but by those that are not over.
      guard let children = self.details?.children, !children.isEmpty else { return body() }
      let missing = Locked(children.count)
      for child in children {
        child.whenAllOver {
          let isLast = missing.withLock { missing in
            missing -= 1
            return missing == 0
          }
          if isLast { body() }
        }
      }
    }
  }

  /// Cancels it, what its blocks have dispatched, and what goes on after that.
  func cancelWithFollowUp() {
    cancel()
    let details = makeDetails()
    details.makeFollowUp(around: details.around).cancel()
    for child in details.children { child.cancelWithFollowUp() }
  }
}

extension Lane {
  /// After so many steps others have their turn.
  private static let batch = 64
  /// After so many steps in a row its actions come as a flow.
  private static let flow = 4

  /// Runs what is to be done, for a while; how many steps that were.
  @discardableResult
  func drain() -> Int {
    let thread = ThreadState.current
    // The one that has ended is kept until the lane no longer calls it its holder.
    var ended: Dispatch?
    var mayLeave = false
    // Somebody who awaits each action before the next one comes back as soon.
    let flow = thread.hasLookedOut ? 0 : Self.flow
    thread.hasLookedOut = false
    for count in 0..<Self.batch {
      switch next(after: &ended, mayLeave: mayLeave, on: thread) {
      case .empty:
        // Where actions come one after the other, the next one is not far.
        mayLeave = count < flow || !pool.lookOut(on: thread, for: { self.hasPush })
      case .step(let step):
        step()
      case .reach(var dispatch):
        if case .goesOn = Dispatch.start(&dispatch, on: thread) {
          yieldPoint(.park, on: thread, description)
          state.withLock { $0.park(dispatch) }
          if isPlanted(.earlyRelease) { release(dispatch) }
        } else {
          ended = dispatch
        }
      case .suspended:
        schedule(isStart: true)
        return count + 1
      case .left(let end):
        end.follow(self)
        return count + 1
      }
    }
    pause(after: &ended, on: thread)
    return Self.batch
  }

  @inline(__always)
  private func letGo(_ ended: inout Dispatch?, on thread: ThreadState) {
    guard ended != nil else { return }
    if isKnownUniquelyReferenced(&ended), let dispatch = ended.take(), dispatch.details == nil {
      pool.recycle(dispatch, on: thread)
    }
    ended = nil
  }

  /// Whether something was pushed that was not taken in yet.
  private var hasPush: Bool { word.now.top != nil }

  private enum Next {
    /// Nothing at all is to be done, and the drainer is still there.
    case empty
    case step(@Sendable () -> Void)
    case reach(Dispatch)
    /// An action could start, but the queue is suspended.
    case suspended
    case left(Departure)
  }

  /// What the drainer does once it has left, outside the lock.
  private struct Departure {
    let busyFor: Dispatcher?
    let isRetired: Bool

    func follow(_ lane: Lane) {
      if isRetired { lane.onRetire(lane) }
    }
  }

  private func next(
    after ended: inout Dispatch?, mayLeave: Bool, on thread: ThreadState
  ) -> Next {
    let hasEnded = ended != nil
    defer { letGo(&ended, on: thread) }
    yieldPoint(.takeNext, on: thread, description)
    return state.withLock { state in
      if hasEnded { state.holderEnded() }
      if !mayLeave, state.rest == .empty {
        state.takeIn(word.change(\.takenIn)?.top)
        if state.rest == .empty { return .empty }
      }
      switch rest(of: &state) {
      case (.step, _): return .step(state.takeStep())
      // Asked only now: what was pushed after a suspension has been taken in by then.
      case (.start, _): return isSuspended ? .suspended : .reach(state.takeStart())
      case (.held, let departure), (.empty, let departure): return .left(departure!)
      }
    }
  }

  /// Lets others have their turn.
  private func pause(after ended: inout Dispatch?, on thread: ThreadState) {
    let hasEnded = ended != nil
    defer { letGo(&ended, on: thread) }
    yieldPoint(.pause, on: thread, description)
    let (rest, departure) = state.withLock { state in
      if hasEnded { state.holderEnded() }
      return self.rest(of: &state)
    }
    if let departure {
      departure.follow(self)
    } else if rest == .start, !isMain {
      pool.putBack(self)
    } else {
      schedule(isStart: rest == .start)
    }
  }

  /// What is to be done next; where that is nothing, the drainer has left.
  private func rest(of state: inout LaneState) -> (LaneState.Rest, Departure?) {
    while true {
      let rest = state.rest
      guard rest == .held || rest == .empty else { return (rest, nil) }
      if let departure = leave(rest) { return (rest, departure) }
      state.takeIn(word.change(\.takenIn)?.top)
    }
  }

  private func leave(_ rest: LaneState.Rest) -> Departure? {
    yieldPoint(.leave, description)
    if rest == .held {
      _ = word.change { $0.leaving(as: .held) }
      return Departure(busyFor: nil, isRetired: false)
    }
    // Whoever makes the lane busy again sets it: that is after the word has changed.
    let departure = Departure(busyFor: busyFor.take(), isRetired: key != nil)
    if isPlanted(.lostWakeUp), key == nil, !hasPush {
      yieldPoint(.leave, description)
      _ = word.change { LaneWord($0.top, .idle) }
      return departure
    }
    if word.change({ $0.leaving(as: key == nil ? .idle : .retired) }) != nil { return departure }
    busyFor = departure.busyFor
    return nil
  }
}

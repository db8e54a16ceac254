import Synchronization

/// What dispatching threads see of a lane: the dispatches they pushed, newest first, and its activity.
///
/// Both are exchanged as one word: "the inbox is empty" and "the drainer has left" are one change. A push
/// comes before it, and the drainer finds it, or after it, and its thread requests a drainer.
struct LaneWord: Equatable {
  enum Activity: UInt {
    /// No thread drains the lane, and it is empty.
    case idle
    /// A dispatch holds the lane and waits for something elsewhere.
    case held
    /// A drainer is there, or was requested.
    case drained
    /// The lane has left the table of lanes, and accepts no dispatch.
    case retired
    /// A task runs its dispatch on its thread, and has made no record: it mostly is about to end. Becomes held
    /// with the record.
    case acquired
  }

  /// An object's address, whose low bits are free.
  let bits: UInt

  init(bits: UInt) {
    self.bits = bits
  }

  init(_ top: Unmanaged<Dispatch>?, _ activity: Activity) {
    bits = (top.map { UInt(bitPattern: $0.toOpaque()) } ?? 0) | activity.rawValue
  }

  var activity: Activity { Activity(rawValue: bits & 7)! }

  /// The newest dispatch; it links to the one before it.
  var top: Unmanaged<Dispatch>? {
    UnsafeRawPointer(bitPattern: bits & ~7).map(Unmanaged.fromOpaque)
  }

  /// With a dispatch on top, and whether a drainer must be requested; nil where the lane is retired.
  ///
  /// Not while the lane is held: suspension would hold the drainer back, and the holder's steps with it.
  func pushing(_ dispatch: Unmanaged<Dispatch>) -> (word: LaneWord, needsDrainer: Bool)? {
    switch activity {
    case .retired: isPlanted(.pushToRetired) ? (LaneWord(dispatch, .drained), true) : nil
    case .idle: (LaneWord(dispatch, .drained), true)
    case .held, .acquired: (LaneWord(dispatch, activity), false)
    case .drained: (LaneWord(dispatch, .drained), false)
    }
  }

  /// With a task that runs its dispatch; nil where that has to wait for its turn.
  var acquiredByTask: LaneWord? {
    if isPlanted(.takenTwice), activity == .acquired { return self }
    return self == LaneWord(nil, .idle) ? LaneWord(nil, .acquired) : nil
  }

  /// With the task's record.
  var heldByTask: LaneWord? {
    activity == .acquired ? LaneWord(top, .held) : nil
  }

  /// Without that task; nil where a dispatch was pushed meanwhile.
  ///
  /// - Parameter activity: What the lane becomes: idle or retired.
  func releasedByTask(as activity: Activity) -> LaneWord? {
    let isEmpty = top == nil || isPlanted(.lostAtRelease)
    let isOfTask = self.activity == .acquired || self.activity == .held
    return isEmpty && isOfTask ? LaneWord(top, activity) : nil
  }

  /// With a drainer, for the holder's next step; nil where the lane has one, who finds the step.
  var requestingDrainer: LaneWord? {
    activity == .held || activity == .acquired ? LaneWord(top, .drained) : nil
  }

  /// Whether a drainer is there, or a dispatch holds the lane without one.
  var isInUse: Bool { activity == .held || activity == .drained }

  /// Without the drainer; nil where a dispatch was pushed that can start.
  ///
  /// - Parameter activity: What the lane becomes: held, idle or retired.
  func leaving(as activity: Activity) -> LaneWord? {
    activity == .held || top == nil ? LaneWord(top, activity) : nil
  }

  /// Without the pushed dispatches, which the drainer takes in.
  var takenIn: LaneWord { LaneWord(nil, activity) }

  /// The same for another thread; nil where no drainer would look for them after that.
  var takenInByOther: LaneWord? {
    switch activity {
    case .held, .drained: takenIn
    case .idle, .acquired, .retired: nil
    }
  }
}

/// A lane's word, in memory that threads share.
struct AtomicLaneWord: ~Copyable {
  private let bits = Atomic<UInt>(LaneWord(nil, .idle).bits)

  var now: LaneWord { LaneWord(bits: bits.load(ordering: .acquiring)) }

  /// Makes it as it was at first, where no other thread has it.
  func reset() {
    bits.store(LaneWord(nil, .idle).bits, ordering: .relaxed)
  }

  /// Changes the word to what `next` makes of it; the word before, or nil where `next` returns nil.
  func change(_ next: (LaneWord) -> LaneWord?) -> LaneWord? {
    var present = bits.load(ordering: .acquiring)
    while let desired = next(LaneWord(bits: present)) {
      let (isDone, original) = bits.weakCompareExchange(
        expected: present, desired: desired.bits, ordering: .acquiringAndReleasing)
      if isDone { return LaneWord(bits: present) }
      present = original
    }
    return nil
  }
}

import Synchronization

/// A lane as dispatching threads see it: the dispatches that they pushed, newest first, and the lane's activity.
///
/// Both are exchanged as one word, so "the inbox is empty" and "the drainer has left" are one change. If a push comes
/// before that change, the drainer finds it. If it comes after, the pushing thread requests a drainer.
struct LaneWord: Equatable {
  enum Activity: UInt {
    /// No thread drains the lane, and it is empty. Becomes drained by a push, acquired by a task.
    case idle
    /// A dispatch holds the lane without a drainer: it waits for something elsewhere, or its task runs it. Becomes
    /// drained by a step of that dispatch, when it can run again, or when its task ends and others wait; idle, or for a
    /// named lane retired, when its task releases the lane.
    case held
    /// A drainer is there, or was requested. Becomes held, idle or retired when the drainer leaves.
    case drained
    /// The lane has left the table of lanes, and accepts no dispatch: a thread that pushes looks the key up again.
    case retired
    /// A task runs its dispatch on its thread, and has made no record, since the dispatch usually ends soon. Becomes
    /// held with the record; at the end idle or retired, or drained if others came.
    case acquired
    /// A dispatch enters several lanes at once, by a thread that has this lane's lock. Becomes what it was.
    ///
    /// Seen without the lane's lock only.
    case closed
  }

  /// The address of the newest dispatch, with the activity in its low bits.
  let bits: UInt

  init(bits: UInt) {
    self.bits = bits
  }

  init(_ top: Unmanaged<Dispatch>?, _ activity: Activity) {
    bits = (top.map { UInt(bitPattern: $0.toOpaque()) } ?? 0) | activity.rawValue
  }

  var activity: Activity { Activity(rawValue: bits & 7)! }

  /// The newest dispatch, which links to the one before it.
  var top: Unmanaged<Dispatch>? {
    UnsafeRawPointer(bitPattern: bits & ~7).map(Unmanaged.fromOpaque)
  }

  /// Returns the word with a dispatch on top, and whether a drainer must be requested; nil if the lane is retired.
  ///
  /// No drainer is requested while the lane is held: suspension would hold it back, and the holder's steps with it.
  func pushing(_ dispatch: Unmanaged<Dispatch>) -> (word: LaneWord, needsDrainer: Bool)? {
    switch activity {
    case .retired: isPlanted(.pushToRetired) ? (LaneWord(dispatch, .drained), true) : nil
    case .closed: nil
    case .idle: (LaneWord(dispatch, .drained), true)
    case .held, .acquired: (LaneWord(dispatch, activity), false)
    case .drained: (LaneWord(dispatch, .drained), false)
    }
  }

  /// The word with a task that runs its dispatch; nil if that has to wait for its turn.
  var acquiredByTask: LaneWord? {
    if isPlanted(.takenTwice), activity == .acquired { return self }
    return self == LaneWord(nil, .idle) ? LaneWord(nil, .acquired) : nil
  }

  /// The word once the task has made a record.
  var heldByTask: LaneWord? {
    activity == .acquired ? LaneWord(top, .held) : nil
  }

  /// Returns the word without the task; nil if a dispatch was pushed meanwhile.
  ///
  /// - Parameter activity: The lane's next activity: idle or retired.
  func releasedByTask(as activity: Activity) -> LaneWord? {
    let isEmpty = top == nil || isPlanted(.lostAtRelease)
    let isOfTask = self.activity == .acquired || self.activity == .held
    return isEmpty && isOfTask ? LaneWord(top, activity) : nil
  }

  /// The word with a drainer for the holder's next step; nil unless a dispatch holds the lane without one.
  var requestingDrainer: LaneWord? {
    activity == .held || activity == .acquired ? LaneWord(top, .drained) : nil
  }

  /// Whether a drainer is there, or a dispatch holds the lane without one.
  var isInUse: Bool { activity == .held || activity == .drained }

  /// Returns the word without the drainer; nil if a dispatch was pushed that can start.
  ///
  /// - Parameter activity: The lane's next activity: held, idle or retired.
  func leaving(as activity: Activity) -> LaneWord? {
    activity == .held || top == nil ? LaneWord(top, activity) : nil
  }

  /// The word without the pushed dispatches, which the drainer takes in.
  var takenIn: LaneWord { LaneWord(nil, activity) }

  /// The word without the pushed dispatches, which another thread takes in; nil if no drainer would look for them
  /// later.
  var takenInByOther: LaneWord? {
    switch activity {
    case .held, .drained: takenIn
    case .idle, .acquired, .retired, .closed: nil
    }
  }

  /// The word while a dispatch enters several lanes; nil if the lane is retired.
  var closed: LaneWord? { activity == .retired ? nil : LaneWord(top, .closed) }
}

/// A lane's word, in memory that threads share.
struct AtomicLaneWord: ~Copyable {
  private let bits = Atomic<UInt>(LaneWord(nil, .idle).bits)

  var now: LaneWord { LaneWord(bits: bits.load(ordering: .acquiring)) }

  /// Resets the word to its first value; no other thread may have it.
  func reset() {
    bits.store(LaneWord(nil, .idle).bits, ordering: .relaxed)
  }

  /// Opens a closed word, which no other thread changes.
  func open(_ word: LaneWord) {
    bits.store(word.bits, ordering: .releasing)
  }

  /// Changes the word to the result of `next`.
  ///
  /// Returns the former word, or nil if `next` returns nil.
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

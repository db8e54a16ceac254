/// What dispatching threads see of a lane: those not yet taken in, newest first, and who drains it.
///
/// One word, that is exchanged as one: "nothing is left" and "the drainer has left" are one change, so
/// that a push comes before it and is found, or comes after it and has to ask for a drainer.
struct LaneWord: Equatable {
  enum Activity: UInt {
    /// Nobody is there, and nothing is to be done.
    case idle
    /// A dispatch has the lane and waits for something elsewhere.
    case held
    /// Somebody drains it, or has been asked to.
    case drained
    /// It has left the table of lanes, and takes nothing any longer.
    case retired
  }

  /// An object's address, whose low bits are free.
  let bits: UInt

  init(bits: UInt) {
    self.bits = bits
  }

  init(_ top: Unmanaged<Dispatch>?, _ activity: Activity) {
    bits = (top.map { UInt(bitPattern: $0.toOpaque()) } ?? 0) | activity.rawValue
  }

  var activity: Activity { Activity(rawValue: bits & 3).unsafelyUnwrapped }

  /// The newest one; it refers to the one before it.
  var top: Unmanaged<Dispatch>? {
    UnsafeRawPointer(bitPattern: bits & ~3).map(Unmanaged.fromOpaque)
  }

  /// With a dispatch on top, and whether somebody has to be asked to drain; nil where it is retired.
  ///
  /// Asked for while the lane is held, a drainer would be held back by suspension, and the holder's
  /// steps with it.
  func pushing(_ dispatch: Unmanaged<Dispatch>) -> (word: LaneWord, needsDrainer: Bool)? {
    switch activity {
    case .retired: isPlanted(.pushToRetired) ? (LaneWord(dispatch, .drained), true) : nil
    case .idle: (LaneWord(dispatch, .drained), true)
    case .held: (LaneWord(dispatch, .held), false)
    case .drained: (LaneWord(dispatch, .drained), false)
    }
  }

  /// With a drainer, for something that the holder does next; nil where one has found that already.
  var askingForDrainer: LaneWord? {
    activity == .held ? LaneWord(top, .drained) : nil
  }

  /// Without the drainer, who has nothing to do; nil where something was pushed that can be done.
  ///
  /// - Parameter activity: What the lane becomes: held, idle or retired.
  func leaving(as activity: Activity) -> LaneWord? {
    activity == .held || top == nil ? LaneWord(top, activity) : nil
  }

  /// Without those on top, whom the drainer takes in.
  var takenIn: LaneWord { LaneWord(nil, activity) }
}

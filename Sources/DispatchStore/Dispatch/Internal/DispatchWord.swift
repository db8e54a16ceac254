/// The life of a dispatch: its phase, with its time limit where it has one, while no other thread takes part; after
/// that the details, which have the state and the limit.
///
/// One word, so that one exchange decides who goes on with what it had, the reference to the limit included.
struct DispatchWord {
  enum Phase: UInt {
    /// The details have the state.
    case detailed
    /// Queued, or being made. Can become running.
    case waiting
    /// Its step runs. After it the record is used again, or ends with details.
    case running
    /// The same, and no deadline changes how it ends: the limit is there to be used again with the record.
    case ending
  }

  /// An object's address, whose low bits are free.
  let bits: UInt

  init(bits: UInt) {
    self.bits = bits
  }

  init(_ phase: Phase, _ limit: Unmanaged<TimeLimit>? = nil) {
    let address = limit.map { UInt(bitPattern: $0.toOpaque()) } ?? 0
    assert(
      address & ~Self.addressBits == 0,
      "An object's address has fewer free bits than the word needs.")
    bits = address | phase.rawValue
  }

  init(_ details: Unmanaged<DispatchDetails>) {
    bits = UInt(bitPattern: details.toOpaque())
    assert(
      bits & ~Self.addressBits == 0, "An object's address has fewer free bits than the word needs.")
  }

  static let waiting = DispatchWord(.waiting)
  static let running = DispatchWord(.running)

  private static let phaseBits: UInt = 7
  /// Set where the heap of the dispatcher's timers has the limit.
  private static let heapBit: UInt = 8
  private static let addressBits = ~(phaseBits | heapBit)

  var phase: Phase { Phase(rawValue: bits & Self.phaseBits).unsafelyUnwrapped }

  private var address: UnsafeRawPointer? { UnsafeRawPointer(bitPattern: bits & Self.addressBits) }

  @inline(__always)
  private var isDetailed: Bool { bits & Self.phaseBits == 0 }

  /// Nil where the details have it.
  ///
  /// Of use to the thread that takes it out of the word, and to the one that runs the dispatch; for others it may be
  /// gone.
  @inline(__always)
  var limit: Unmanaged<TimeLimit>? { isDetailed ? nil : address.map(Unmanaged.fromOpaque) }

  /// The same where the deadline may come.
  var presentLimit: Unmanaged<TimeLimit>? { phase == .ending ? nil : limit }

  /// Whether it has this limit, whose deadline may come, and that is not in the heap of the dispatcher's timers.
  func isSet(_ limit: TimeLimit) -> Bool {
    !isInHeap && presentLimit?.toOpaque() == Unmanaged.passUnretained(limit).toOpaque()
  }

  /// Whether its limit is in the heap of the dispatcher's timers.
  var isInHeap: Bool { bits & Self.heapBit != 0 && !isDetailed }

  /// The same with its limit in the heap.
  var inHeap: DispatchWord { DispatchWord(bits: bits | Self.heapBit) }

  var isRunning: Bool { phase == .running || phase == .ending }

  @inline(__always)
  var details: Unmanaged<DispatchDetails>? { isDetailed ? address.map(Unmanaged.fromOpaque) : nil }

  /// The same in another phase.
  func changed(to phase: Phase) -> DispatchWord {
    DispatchWord(bits: bits & ~Self.phaseBits | phase.rawValue)
  }
}

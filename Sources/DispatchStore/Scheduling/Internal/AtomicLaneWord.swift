import Synchronization

/// A lane's word, changed as one by all who see it.
struct AtomicLaneWord: ~Copyable {
  private let bits = Atomic<UInt>(LaneWord(nil, .idle).bits)

  @inline(__always)
  var now: LaneWord { LaneWord(bits: bits.load(ordering: .acquiring)) }

  /// Changes the word to what follows from it; the word before, or nil where nothing follows.
  @inline(__always)
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

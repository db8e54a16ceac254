/// Identifies a timer; not used again.
struct TimerToken: Equatable {
  let slot: Int
  /// Distinguishes it from others that have the slot before and after.
  let number: UInt64
}

/// Timers in the order of their deadlines, without threads and without a clock.
///
/// Each has a slot of an array, which is used again, and a place in the heap. One that is removed leaves its place there,
/// until that comes to the top or more than half of the places are dead.
struct TimerHeap<Payload> {
  private struct Place: Comparable {
    let deadline: Int64
    let token: TimerToken

    /// Equal deadlines come in the order of insertion.
    static func < (lhs: Place, rhs: Place) -> Bool {
      (lhs.deadline, lhs.token.number) < (rhs.deadline, rhs.token.number)
    }
  }

  private struct Slot {
    var number: UInt64
    /// Nil where it is free.
    var payload: Payload?
    /// The next one that is free, where it is; where there is none, -1.
    var nextFree = -1
  }

  private var places = MinimumHeap<Place>([])
  private var slots: [Slot] = []
  private var firstFree = -1
  private var lastNumber: UInt64 = 0
  /// So few places are not worth a compaction, nor so few slots their release.
  private static var fewPlaces: Int { 64 }

  /// How many timers there are.
  private(set) var count = 0

  /// How many places there are, those of removed timers included.
  var placeCount: Int { places.count }

  mutating func insert(_ payload: Payload, at deadline: Int64) -> TimerToken {
    lastNumber += 1
    count += 1
    let slot = Slot(number: lastNumber, payload: payload)
    let index = firstFree < 0 ? slots.count : firstFree
    if firstFree < 0 {
      slots.append(slot)
    } else {
      firstFree = slots[index].nextFree
      slots[index] = slot
    }
    let token = TimerToken(slot: index, number: lastNumber)
    places.insert(Place(deadline: deadline, token: token))
    return token
  }

  /// Removes a timer; what it had, to be released outside of locks, or nil where it has fired.
  mutating func remove(_ token: TimerToken) -> Payload? {
    guard let payload = take(token) else { return nil }
    if places.count > max(2 * count, Self.fewPlaces) {
      places.filter { [slots] in Self.isPending($0.token, in: slots) }
    }
    return payload
  }

  /// The earliest deadline.
  mutating func earliest() -> Int64? {
    while let place = places.minimum {
      if Self.isPending(place.token, in: slots) { return place.deadline }
      _ = places.popMinimum()
    }
    return nil
  }

  /// Removes the timers whose deadlines have come, and returns what they had, in order.
  mutating func takeDue(at now: Int64) -> [Payload] {
    var due: [Payload] = []
    while let deadline = earliest(), deadline <= now, let place = places.popMinimum() {
      if let payload = take(place.token) { due.append(payload) }
    }
    return due
  }

  private static func isPending(_ token: TimerToken, in slots: [Slot]) -> Bool {
    token.slot < slots.count && slots[token.slot].number == token.number
      && slots[token.slot].payload != nil
  }

  private mutating func take(_ token: TimerToken) -> Payload? {
    guard Self.isPending(token, in: slots) else { return nil }
    let payload = slots[token.slot].payload.take()
    slots[token.slot].nextFree = firstFree
    firstFree = token.slot
    count -= 1
    if count == 0, slots.count > Self.fewPlaces { (slots, firstFree) = ([], -1) }
    return payload
  }
}

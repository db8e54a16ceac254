/// Identifies a timer; never reused.
struct TimerToken: Equatable {
  let slot: Int
  /// Distinguishes the timer from earlier and later ones in the same slot.
  let number: UInt64
}

/// Timers in the order of their deadlines, without threads and without a clock.
///
/// Each timer has a reusable slot of an array, and a place in the heap. A removed timer leaves its place in the heap
/// as a tombstone. Tombstones stay until they reach the top, or are more than half of the places.
struct TimerHeap<Payload> {
  private struct Place: Comparable {
    let deadline: Int64
    let token: TimerToken

    /// Orders places by deadline; equal deadlines come in the order of insertion.
    static func < (lhs: Place, rhs: Place) -> Bool {
      (lhs.deadline, lhs.token.number) < (rhs.deadline, rhs.token.number)
    }
  }

  private struct Slot {
    var number: UInt64
    /// The payload; nil if the slot is free.
    var payload: Payload?
    /// The next free slot, if this one is free; -1 if there is none.
    var nextFree = -1
  }

  private var places = MinimumHeap<Place>([])
  private var slots: [Slot] = []
  private var firstFree = -1
  private var lastNumber: UInt64 = 0
  /// The number of places up to which no compaction is worthwhile, nor the release of slots.
  private static var fewPlaces: Int { 64 }

  /// The number of timers.
  private(set) var count = 0

  /// The number of places, including those of removed timers.
  var placeCount: Int { places.count }

  /// The payloads, in no order.
  var payloads: [Payload] { slots.compactMap(\.payload) }

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

  /// The payload of a timer; nil if it has fired or was removed.
  subscript(_ token: TimerToken) -> Payload? {
    Self.isPending(token, in: slots) ? slots[token.slot].payload : nil
  }

  /// Removes a timer; returns its payload, to be released outside of locks, or nil if it has fired.
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

  /// Removes the earliest timer; returns its payload.
  mutating func takeFirst() -> Payload? {
    earliest() == nil ? nil : places.popMinimum().flatMap { take($0.token) }
  }

  /// Removes the timers whose deadlines have come, and returns their payloads in order.
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

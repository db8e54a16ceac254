/// Identifies a timer; never reused.
package struct TimerToken: Equatable, Sendable {
  let number: UInt64
}

/// Timers in the order of their deadlines, without threads and without a clock.
///
/// Each timer has a place in the heap. A removed timer leaves its place as a tombstone. Tombstones stay until they
/// reach the top, or are more than half of the places.
package struct TimerHeap<Deadline: Comparable & Sendable, Payload> {
  private struct Place: Comparable {
    let deadline: Deadline
    let number: UInt64

    /// Orders places by deadline; equal deadlines come in the order of insertion.
    static func < (lhs: Place, rhs: Place) -> Bool {
      (lhs.deadline, lhs.number) < (rhs.deadline, rhs.number)
    }
  }

  private var places = MinimumHeap<Place>([])
  /// The payloads of the timers that have not fired and were not removed, by their numbers.
  private var pending: [UInt64: Payload] = [:]
  private var lastNumber: UInt64 = 0
  /// The number of places up to which no compaction is worthwhile, nor the release of memory.
  private static var fewPlaces: Int { 64 }

  /// The number of timers.
  package var count: Int { pending.count }

  /// The number of places, including those of removed timers.
  var placeCount: Int { places.count }

  /// The payloads, in the order of insertion: a simulation must not depend on the order of hashes.
  var payloads: [Payload] { pending.sorted { $0.key < $1.key }.map(\.value) }

  package init() {}

  package mutating func insert(_ payload: Payload, at deadline: Deadline) -> TimerToken {
    lastNumber += 1
    pending[lastNumber] = payload
    places.insert(Place(deadline: deadline, number: lastNumber))
    return TimerToken(number: lastNumber)
  }

  /// The payload of a timer; nil if it has fired or was removed.
  subscript(_ token: TimerToken) -> Payload? { pending[token.number] }

  /// Removes a timer; returns its payload, to be released outside of locks, or nil if it has fired.
  package mutating func remove(_ token: TimerToken) -> Payload? {
    guard let payload = take(token.number) else { return nil }
    if places.count > max(2 * count, Self.fewPlaces) {
      places.filter { [pending] in pending[$0.number] != nil }
    }
    return payload
  }

  /// The earliest deadline.
  package mutating func earliest() -> Deadline? {
    while let place = places.minimum {
      if pending[place.number] != nil { return place.deadline }
      _ = places.popMinimum()
    }
    return nil
  }

  /// Removes the earliest timer; returns its payload.
  mutating func takeFirst() -> Payload? {
    earliest() == nil ? nil : places.popMinimum().flatMap { take($0.number) }
  }

  /// Removes the timers whose deadlines have come, and returns their payloads in order.
  package mutating func takeDue(at now: Deadline) -> [Payload] {
    var due: [Payload] = []
    while let first = places.minimum, first.deadline <= now, let place = places.popMinimum() {
      if let payload = take(place.number) { due.append(payload) }
    }
    return due
  }

  private mutating func take(_ number: UInt64) -> Payload? {
    guard let payload = pending.removeValue(forKey: number) else { return nil }
    if pending.isEmpty, pending.capacity > Self.fewPlaces { pending = [:] }
    return payload
  }
}

extension TimerHeap: Sendable where Payload: Sendable {}

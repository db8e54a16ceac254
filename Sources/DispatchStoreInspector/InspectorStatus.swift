public import DispatchStore

/// The dispatches in flight, and who waits for whom, for a page of the inspector.
///
/// A page gets their number, and the 500 that are longest without a move.
public struct InspectorStatus: Sendable {
  /// The most dispatches that are written, with the waits between them.
  private static let limit = 500
  private static let edgeLimit = 2 * limit
  private static let laneLimit = 100
  private static let cycleLimit = 10
  private static let stateLimit = 10
  /// The longest texts, in scalars: keys of lanes and of other options may be of any length.
  private static let textLimit = 100_000
  private static let lineLimit = 200

  private let diagnosis: Diagnosis
  private let limits: [(name: String, statistics: DispatchLimit.Statistics)]
  /// The number of entries that the recorder had dropped before it sent the whole log to the page.
  var dropped = 0
  /// The number of entries that were not sent to the page.
  var notSent = 0
  /// The time at which the log begins, in milliseconds since 1970: zero before the first dispatch.
  var origin: Int64 = 0

  /// Takes the present status of a dispatcher.
  ///
  /// - Parameters:
  ///   - dispatcher: The dispatcher. Set its `tracksInFlight`, or a watchdog, or the page shows only calls that wait for
  ///     a limit.
  ///   - limits: The limits to show.
  public init(of dispatcher: Dispatcher, limits: [DispatchLimit] = []) {
    diagnosis = dispatcher.diagnosis()
    self.limits = limits.map { ($0.name, $0.statistics) }
  }

  func write(to json: inout PageJSON) {
    json.object { json in
      json.member("dropped") { $0.number(Int64(dropped)) }
      json.member("notSent") { $0.number(Int64(notSent)) }
      json.member("origin") { $0.number(origin) }
      json.member("tracked") { $0.bool(diagnosis.hasTable) }
      json.member("cycles") { json in
        json.array(diagnosis.cycles.prefix(Self.cycleLimit)) { json, cycle in
          json.object { json in
            json.member("size") { $0.number(Int64(cycle.edges.count)) }
            json.member("probable") { $0.bool(cycle.isProbable) }
          }
        }
      }
      json.member("count") { $0.number(Int64(diagnosis.entries.count)) }
      json.member("inFlight") {
        $0.array(diagnosis.entries.prefix(Self.limit)) { write($1, to: &$0) }
      }
      let ring = Set(diagnosis.cycles.flatMap(\.edges))
      let others = diagnosis.edges.lazy.filter { edge in
        max(edge.from, edge.to) <= Self.limit && !ring.contains(edge)
      }
      let edges =
        ring.sorted { ($0.from, $0.to) < ($1.from, $1.to) }.prefix(Self.edgeLimit)
        + others.prefix(Self.edgeLimit)
      json.member("edges") { json in
        json.array(edges) { write($1, inRing: ring.contains($1), to: &$0) }
      }
      json.member("lanes") { json in
        let lanes = waitingByLane.sorted { $0.value > $1.value }
        json.array(lanes.prefix(Self.laneLimit)) { json, lane in
          json.object { json in
            json.member("name") { $0.text(lane.key.cut(after: Self.lineLimit)) }
            json.member("waiting") { $0.number(Int64(lane.value)) }
          }
        }
      }
      json.member("limits") { $0.array(limits) { write($1, to: &$0) } }
      json.member("text") { $0.text(diagnosis.text(of: Self.limit).cut(after: Self.textLimit)) }
    }
  }

  private var waitingByLane: [String: Int] {
    var counts: [String: Int] = [:]
    for entry in diagnosis.entries where entry.isWaiting {
      if let mode = entry.mode { counts["\(mode)", default: 0] += 1 }
    }
    return counts
  }

  private func write(_ entry: Diagnosis.Entry, to json: inout PageJSON) {
    json.object { json in
      json.member("number") { $0.number(Int64(entry.number)) }
      json.member("id") { $0.number(entry.id.map { Int64(clamping: $0.number) } ?? -1) }
      json.member("parent") { $0.number(entry.parent.map { Int64(clamping: $0.number) } ?? -1) }
      json.member("type") { $0.text(entry.name) }
      json.member("mode") { json in
        json.text(entry.mode.map { "\($0)" }?.cut(after: Self.lineLimit) ?? "")
      }
      json.member("site") { $0.text("\(entry.callSite)") }
      json.member("age") { $0.number(entry.age?.wholeNanoseconds ?? -1) }
      json.member("unmoved") { $0.number(entry.timeUnmoved?.wholeNanoseconds ?? -1) }
      json.member("waiting") { $0.bool(entry.isWaiting) }
      json.member("states") {
        $0.array(entry.states.prefix(Self.stateLimit)) { $0.text($1.cut(after: Self.lineLimit)) }
      }
    }
  }

  private func write(_ edge: Diagnosis.Edge, inRing: Bool, to json: inout PageJSON) {
    json.object { json in
      json.member("from") { $0.number(Int64(edge.from)) }
      json.member("to") { $0.number(Int64(edge.to)) }
      json.member("label") { $0.text(edge.label.cut(after: Self.lineLimit)) }
      json.member("suspected") { $0.bool(edge.isSuspected) }
      json.member("ring") { $0.bool(inRing) }
    }
  }

  private func write(
    _ limit: (name: String, statistics: DispatchLimit.Statistics), to json: inout PageJSON
  ) {
    json.object { json in
      json.member("name") { $0.text(limit.name) }
      json.member("inUse") { $0.number(Int64(limit.statistics.inFlight)) }
      json.member("limit") { $0.number(Int64(limit.statistics.bound)) }
      json.member("waiting") { $0.number(Int64(limit.statistics.waiting)) }
    }
  }
}

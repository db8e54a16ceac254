public import DispatchStore
public import Foundation

extension DispatchLog {
  /// The log in the format of Chrome's trace viewer, which Perfetto (ui.perfetto.dev) opens as well.
  ///
  /// There is a track for each lane. Dispatches without a lane that run at the same time are in tracks of their own.
  /// Arrows lead from a dispatch to those made inside it, and a counter has the number in flight.
  public func chromeTrace() -> Data {
    var tracks = TraceTracks()
    let placed = entries.sorted { $0.start < $1.start }.map {
      (entry: $0, track: tracks.track(of: $0))
    }
    let byID = Dictionary(placed.compactMap { placed in placed.entry.id.map { ($0, placed) } }) {
      $1
    }
    var json = PageJSON()
    json.object { json in
      json.member("displayTimeUnit") { $0.text("ns") }
      json.member("traceEvents") { json in
        json.array { json in
          json.name("process_name", dispatcher, track: 0)
          for (index, name) in tracks.names.enumerated() {
            json.name("thread_name", name, track: index + 1)
          }
          for (entry, track) in placed { json.slice(of: entry, on: track) }
          // Perfetto binds an arrow to slices that stand before it.
          for (entry, track) in placed {
            if let parent = entry.parent.flatMap({ byID[$0] }) {
              json.flow(from: parent.entry, on: parent.track, to: entry, on: track)
            }
          }
          json.counters(of: placed.map(\.entry))
        }
      }
    }
    return Data(json.string.utf8)
  }
}

/// The tracks of a trace: slices of a track must not overlap, unless one is inside the other.
private struct TraceTracks {
  private(set) var names: [String] = []
  /// By a group of tracks: the end of the last slice of each.
  private var ends: [String: MinimumHeap<TrackEnd>] = [:]

  private struct TrackEnd: Comparable {
    let end: Duration
    let track: Int

    static func < (one: Self, other: Self) -> Bool {
      (one.end, one.track) < (other.end, other.track)
    }
  }

  /// Returns the number of the track for an entry; entries come in the order of their starts.
  mutating func track(of entry: DispatchLog.Entry) -> Int {
    let group = entry.lane ?? (entry.mode.isEmpty ? "changes" : entry.mode)
    let track: Int
    if let first = ends[group]?.minimum, first.end <= entry.start {
      _ = ends[group]?.popMinimum()
      track = first.track
    } else {
      let count = ends[group]?.count ?? 0
      names.append(count == 0 ? group : "\(group) (\(count + 1))")
      track = names.count
    }
    let end = entry.lastMoment + .nanoseconds(1)
    ends[group, default: MinimumHeap([])].insert(TrackEnd(end: end, track: track))
    return track
  }
}

extension PageJSON {
  fileprivate mutating func name(_ kind: String, _ name: String, track: Int) {
    object { json in
      json.member("ph") { $0.text("M") }
      json.member("name") { $0.text(kind) }
      json.place(track)
      json.member("args") { json in json.object { json in json.member("name") { $0.text(name) } } }
    }
  }

  fileprivate mutating func slice(of entry: DispatchLog.Entry, on track: Int) {
    object { json in
      json.member("ph") { $0.text("X") }
      json.member("name") { $0.text(entry.title) }
      json.member("cat") { json in
        json.text((entry.outcome ?? entry.stores.first?.outcome)?.rawValue ?? "no store")
      }
      json.place(track)
      json.time("ts", entry.start)
      json.time("dur", entry.duration)
      json.member("args") { json in
        json.object { json in
          json.member("action") { json in
            json.text(entry.actions.map(\.text).joined(separator: "\n"))
          }
          json.member("site") { $0.text(entry.callSite) }
          json.member("queued ns") { $0.number(entry.timeQueued.wholeNanoseconds) }
          if let error = entry.error { json.member("error") { $0.text(error) } }
          if let id = entry.id { json.member("id") { $0.number(Int64(clamping: id)) } }
          if let parent = entry.parent {
            json.member("parent") { $0.number(Int64(clamping: parent)) }
          }
        }
      }
    }
  }

  /// Writes an arrow, which begins inside the one slice and ends at the begin of the other; none that leads back in time.
  fileprivate mutating func flow(
    from parent: DispatchLog.Entry, on parentTrack: Int, to child: DispatchLog.Entry,
    on track: Int
  ) {
    let departure = min(max(parent.start, child.began), parent.lastMoment)
    let arrival = max(departure, child.start)
    if arrival > child.lastMoment { return }
    for (phase, time, track) in [("s", departure, parentTrack), ("f", arrival, track)] {
      object { json in
        json.member("ph") { $0.text(phase) }
        json.member("name") { $0.text("dispatch") }
        json.member("cat") { $0.text("cause") }
        json.member("id") { $0.number(Int64(clamping: child.id ?? 0)) }
        json.member("bp") { $0.text("e") }
        json.place(track)
        json.time("ts", time)
      }
    }
  }

  fileprivate mutating func counters(of entries: [DispatchLog.Entry]) {
    var steps = entries.map { (time: $0.began, change: Int64(1)) }
    steps += entries.map { (time: $0.start + $0.duration, change: -1) }
    steps.sort { ($0.time, $0.change) < ($1.time, $1.change) }
    var count: Int64 = 0
    for step in steps {
      count += step.change
      object { json in
        json.member("ph") { $0.text("C") }
        json.member("name") { $0.text("in flight") }
        json.place(0)
        json.time("ts", step.time)
        json.member("args") { json in
          json.object { json in json.member("dispatches") { $0.number(max(0, count)) } }
        }
      }
    }
  }

  private mutating func place(_ track: Int) {
    member("pid") { $0.number(1) }
    member("tid") { $0.number(Int64(track)) }
  }

  /// Writes a time in microseconds, with its nanoseconds behind the point.
  private mutating func time(_ name: StaticString, _ time: Duration) {
    member(name) { $0.decimal(thousandths: max(0, time.wholeNanoseconds)) }
  }
}

extension DispatchLog.Entry {
  /// The time at which its first store started; the time queued of a lane's next dispatch overlaps its holder.
  fileprivate var start: Duration { began + timeQueued }

  /// The last time inside its slice, since Perfetto leaves the end out.
  fileprivate var lastMoment: Duration { start + max(.zero, duration - .nanoseconds(1)) }

  /// The names of its actions' types, or of the stores of a change.
  var title: String {
    if kind == .change { return stores.map(\.store).joined(separator: ", ") }
    let types = actions.prefix(3).map(\.type).joined(separator: ", ")
    return actions.count > 3 ? types + ", …" : types
  }
}

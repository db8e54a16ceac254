public import DispatchStore
private import Foundation

extension DispatchLog {
  /// The log as a page for a browser: one HTML file, without a reference to anything outside.
  ///
  /// A page has a timeline, a list with filters, the causes of each dispatch and the differences of its stores.
  ///
  /// A live page gets the whole log from its feed. Make it without entries, which it would get twice:
  ///
  ///     recorder.log(after: .max, atMost: 0).log.html(events: "events")
  ///
  /// - Parameters:
  ///   - status: The dispatches in flight, if the page is to show them.
  ///   - events: The address of an `InspectorFeed` as server-sent events, relative to the page's, for a page that shows
  ///     what happens; nil for one that shows this log alone.
  public func html(status: InspectorStatus? = nil, events: String? = nil) -> String {
    var json = PageJSON()
    json.object { json in
      json.member("name") { $0.text(dispatcher) }
      json.member("origin") { $0.number(originMilliseconds) }
      json.member("dropped") { $0.number(Int64(droppedCount)) }
      // A log from a file may say any number, and a page's numbers have 53 bits.
      json.member("chunk", PageChunk(entries, after: max(0, min(droppedCount, 1 << 52))).write)
      json.member("status") { json in
        if let status { status.write(to: &json) } else { json.null() }
      }
      json.member("live") { json in
        if let events { json.text(events) } else { json.null() }
      }
    }
    return Page.html(with: json.string)
  }
}

extension DispatchLog {
  /// The time at which it begins, in milliseconds since 1970.
  var originMilliseconds: Int64 {
    Int64(max(-1e14, min(1e14, (origin.timeIntervalSince1970 * 1_000).rounded())))
  }
}

extension DispatchRecorder {
  /// The log as it is now, as a page for a browser (`DispatchLog.html(status:events:)`).
  public func html() -> String { log.html() }
}

/// The page without data.
private enum Page {
  private static let place = "/*DISPATCHSTORE-DATA*/null"
  private static let parts: (before: Substring, after: Substring) = {
    let page = String(decoding: PackageResources.Inspector_html, as: UTF8.self)
    guard let range = page.firstRange(of: place) else { return (page[...], "") }
    return (page[..<range.lowerBound], page[range.upperBound...])
  }()

  static func html(with data: String) -> String { parts.before + data + parts.after }
}

public import DispatchStore
private import Foundation

extension DispatchLog {
  /// The log as a page for a browser: one HTML file, without a reference to anything outside.
  ///
  /// A page has a timeline, a list with filters, the causes of each dispatch and the differences of its stores.
  ///
  /// - Parameter status: The dispatches in flight, if the page is to show them.
  public func html(status: InspectorStatus? = nil) -> String { page(status, events: nil) }

  fileprivate func page(_ status: InspectorStatus?, events: String?) -> String {
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
  /// The log as it is now, as a page for a browser (`DispatchLog.html(status:)`).
  public func html() -> String { log.html() }

  /// A page for a browser that shows what happens now.
  ///
  /// It has no entries: it gets the whole log, and what comes, from its feed.
  ///
  /// - Parameters:
  ///   - dispatcher: The dispatcher, whose name the page has.
  ///   - events: The address of an `InspectorFeed` as server-sent events, relative to the page's.
  public func livePage(at dispatcher: Dispatcher, events: String) -> String {
    // The log has the dispatcher's name from the first dispatch on.
    var log = self.log(after: .max, atMost: 0).log
    log.dispatcher = dispatcher.name
    return log.page(nil, events: events)
  }
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

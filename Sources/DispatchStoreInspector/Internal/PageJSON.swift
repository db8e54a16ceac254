import DispatchStore

/// Writes the data of a page: JSON that may stand inside a `script` element.
///
/// By hand, since 100,000 entries are written about ten times as fast as by an encoder.
struct PageJSON {
  private var bytes: [UInt8] = []
  /// Whether the next value needs a comma before it.
  private var needsComma = false

  var string: String { String(decoding: bytes, as: UTF8.self) }

  mutating func object(_ body: (inout PageJSON) -> Void) {
    frame(UInt8(ascii: "{"), UInt8(ascii: "}"), body)
  }

  mutating func array(_ body: (inout PageJSON) -> Void) {
    frame(UInt8(ascii: "["), UInt8(ascii: "]"), body)
  }

  mutating func member(_ name: StaticString, _ value: (inout PageJSON) -> Void) {
    separate()
    quote(name.description)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
    value(&self)
  }

  mutating func number(_ value: Int64) {
    separate()
    bytes += "\(value)".utf8
  }

  /// Writes a number with three digits behind the point.
  mutating func decimal(thousandths: Int64) {
    let rest = String(thousandths % 1_000)
    raw("\(thousandths / 1_000).\(String(repeating: "0", count: 3 - rest.count))\(rest)")
  }

  mutating func text(_ value: String) {
    separate()
    quote(value)
  }

  mutating func bool(_ value: Bool) { raw(value ? "true" : "false") }

  mutating func null() { raw("null") }

  private mutating func raw(_ value: String) {
    separate()
    bytes += value.utf8
  }

  private mutating func frame(_ start: UInt8, _ end: UInt8, _ body: (inout PageJSON) -> Void) {
    separate()
    bytes.append(start)
    needsComma = false
    body(&self)
    bytes.append(end)
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  private mutating func quote(_ value: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in value.utf8 {
      switch byte {
      // A "<" could end the script element.
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "<"), 0..<0x20: escape(byte)
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func escape(_ byte: UInt8) {
    let digits = Array("0123456789abcdef".utf8)
    bytes += "\\u00".utf8
    bytes += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
  }
}

extension PageJSON {
  /// Writes entries with a table of their texts, each text once.
  mutating func chunk(_ entries: [DispatchLog.Entry]) {
    var texts = TextTable()
    object { json in
      json.member("entries") { json in
        json.array { json in
          for entry in entries { json.entry(entry, &texts) }
        }
      }
      json.member("strings") { json in
        json.array { json in for text in texts.all { json.text(text) } }
      }
    }
  }

  private mutating func entry(_ entry: DispatchLog.Entry, _ texts: inout TextTable) {
    array { json in
      // A change outside of dispatches has a negative number, of its time.
      json.number(entry.id.map(Int64.init(clamping:)) ?? min(-1, -entry.began.wholeNanoseconds))
      json.number(entry.parent.map(Int64.init(clamping:)) ?? -1)
      json.number([.action: 0, .sequence: 1, .change: 2][entry.kind]!)
      json.number(texts.index(of: entry.actions.map(\.type).joined(separator: ", ")))
      json.number(texts.index(of: entry.actions.map(\.text).joined(separator: "\n")))
      json.number(texts.index(of: entry.mode))
      json.number(texts.index(of: entry.lane))
      for time in [entry.began, entry.timeQueued, entry.duration] {
        json.number(time.wholeNanoseconds)
      }
      json.number(texts.index(of: entry.callSite))
      json.number(texts.index(of: entry.error))
      json.array { json in for store in entry.stores { json.store(store, in: entry, &texts) } }
    }
  }

  /// Writes a run without defaults at its end, and with time and version as differences: a third of a page.
  private mutating func store(
    _ run: DispatchLog.StoreRun, in entry: DispatchLog.Entry, _ texts: inout TextTable
  ) {
    array { json in
      json.number(texts.index(of: run.store))
      json.number(texts.index(of: run.outcome.rawValue))
      json.number(texts.index(of: run.detail))
      json.number((run.timeQueued - entry.timeQueued).wholeNanoseconds)
      json.number(run.duration.wholeNanoseconds)
      json.number(Int64(clamping: run.oldVersion))
      let isPlain = run.omittedCount == 0 && run.replacement == nil
      if isPlain, run.differences.isEmpty, run.newVersion == run.oldVersion { return }
      json.number(Int64(clamping: run.newVersion - run.oldVersion))
      if isPlain, run.differences.isEmpty { return }
      json.array { json in
        for difference in run.differences {
          json.array { json in
            for text in [difference.path, difference.old, difference.new] {
              json.number(texts.index(of: text))
            }
          }
        }
      }
      if isPlain { return }
      json.number(Int64(run.omittedCount))
      json.number(texts.index(of: run.replacement))
    }
  }
}

/// The texts of a chunk, each once.
private struct TextTable {
  private(set) var all: [String] = []
  private var indices: [String: Int] = [:]

  mutating func index(of text: String?) -> Int64 {
    guard let text else { return -1 }
    if let index = indices[text] { return Int64(index) }
    indices[text] = all.count
    all.append(text)
    return Int64(all.count - 1)
  }
}

/// A day of the UTC calendar, counted from 1 January 1970.
struct Day: Hashable, Codable, Sendable {
  let number: Int

  init(number: Int) {
    self.number = number
  }

  /// The day that `seconds` since 1970 fall into.
  init(ofSecond seconds: Int) {
    let dayLength = 86_400
    number = (seconds >= 0 ? seconds : seconds - (dayLength - 1)) / dayLength
  }
}

extension Day: Comparable {
  static func < (one: Day, other: Day) -> Bool { one.number < other.number }
}

extension Day: CustomStringConvertible {
  /// The day as `2024-02-29`.
  var description: String {
    // The Gregorian calendar repeats every 400 years, and with years that begin in March the leap
    // day comes last: http://howardhinnant.github.io/date_algorithms.html#civil_from_days
    let sinceMarch0000 = number + 719_468
    let era = (sinceMarch0000 >= 0 ? sinceMarch0000 : sinceMarch0000 - 146_096) / 146_097
    let dayOfEra = sinceMarch0000 - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
  }

  private func padded(_ value: Int, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

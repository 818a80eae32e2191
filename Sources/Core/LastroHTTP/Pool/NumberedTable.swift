// SPDX-License-Identifier: Apache-2.0

/// A table of objects by number. No number is given out twice, and a look-up needs no hashing.
struct NumberedTable<Element: AnyObject> {
  /// The number of low bits of a number that hold the object's index in the table. Indexes are reused.
  private static var placeBits: UInt64 { 24 }

  /// The objects and their numbers; (0, `nil`) for a free index, because no object has the number 0.
  private var entries: [(number: UInt64, element: Element?)] = []
  private var free: [Int] = []
  private var latest: UInt64 = 0

  var count: Int { entries.count - free.count }
  var isEmpty: Bool { count == 0 }

  /// The objects in the order of their indexes.
  var all: [Element] { entries.compactMap { $0.element } }

  subscript(number: UInt64) -> Element? {
    let place = Self.place(number)
    return place < entries.count && entries[place].number == number ? entries[place].element : nil
  }

  /// Adds an object, and returns its number.
  mutating func add(_ element: Element) -> UInt64 {
    latest += 1
    let place = free.popLast() ?? entries.count
    let number = latest << Self.placeBits | UInt64(place)
    if place == entries.count {
      entries.append((number, element))
    } else {
      entries[place] = (number, element)
    }
    return number
  }

  /// Removes an object, and returns it; `nil` if the number is unknown.
  @discardableResult
  mutating func remove(_ number: UInt64) -> Element? {
    guard let element = self[number] else { return nil }
    let place = Self.place(number)
    entries[place] = (0, nil)
    free.append(place)
    return element
  }

  private static func place(_ number: UInt64) -> Int { Int(number & (1 << placeBits - 1)) }
}

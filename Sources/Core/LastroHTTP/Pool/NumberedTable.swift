// SPDX-License-Identifier: Apache-2.0

/// A table of objects by number. No number is given out twice, and a look-up needs no hashing.
struct NumberedTable<Element: AnyObject> {
  /// The number of low bits of a number that hold the object's index in the table. Indexes are reused.
  private static var placeBits: UInt64 { 24 }

  private var numbers: [UInt64] = []
  private var elements: [Element?] = []
  private var free: [Int] = []
  private var latest: UInt64 = 0

  var count: Int { elements.count - free.count }
  var isEmpty: Bool { count == 0 }

  /// The objects in the order of their indexes.
  var all: [Element] { elements.compactMap(\.self) }

  subscript(number: UInt64) -> Element? {
    let place = Self.place(number)
    return place < numbers.count && numbers[place] == number ? elements[place] : nil
  }

  /// Adds an object, and returns its number.
  mutating func add(_ element: Element) -> UInt64 {
    latest += 1
    let place = free.popLast() ?? elements.count
    let number = latest << Self.placeBits | UInt64(place)
    if place == elements.count {
      elements.append(element)
      numbers.append(number)
    } else {
      elements[place] = element
      numbers[place] = number
    }
    return number
  }

  /// Removes an object, and returns it; `nil` if the number is unknown.
  @discardableResult
  mutating func remove(_ number: UInt64) -> Element? {
    guard let element = self[number] else { return nil }
    let place = Self.place(number)
    elements[place] = nil
    numbers[place] = 0
    free.append(place)
    return element
  }

  private static func place(_ number: UInt64) -> Int { Int(number & (1 << placeBits - 1)) }
}

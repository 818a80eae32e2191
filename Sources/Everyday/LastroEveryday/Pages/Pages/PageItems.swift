// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The elements of pages in order. A page is fetched when its first element is requested.
package struct PageItems<Page: Sendable, Item, APIError: Error>: AsyncSequence, Sendable {
  /// The type of an element.
  package typealias Element = Item
  /// The error of a page that could not be fetched.
  package typealias Failure = HTTPFetchError<APIError>

  let pages: PageSequence<Page, APIError>
  let items: @Sendable (Page) -> [Item]

  /// An iterator over the elements.
  package struct AsyncIterator: AsyncIteratorProtocol {
    var pages: PageSequence<Page, APIError>.AsyncIterator
    let items: @Sendable (Page) -> [Item]
    var rest: ArraySlice<Item> = []

    /// Returns the next element; `nil` after the last.
    ///
    /// - Throws: the errors of the iterator of ``PageSequence``.
    package mutating func next() async throws(Failure) -> Item? { try await next(isolation: #isolation) }

    /// Returns the next element, like ``next()``.
    ///
    /// - Throws: the same errors as ``next()``.
    package mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Item? {
      while true {
        if let item = rest.popFirst() { return item }
        guard let page = try await pages.next(isolation: actor) else { return nil }
        rest = items(page.value)[...]
      }
    }
  }

  /// Creates an iterator that begins with the first page.
  package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pages: pages.makeAsyncIterator(), items: items) }
}

extension PageSequence {
  /// Returns the elements of the pages in order. A page is fetched when its first element is requested.
  ///
  /// - Parameter items: returns the elements of a page, such as `\.data`, or `\.self` for a page that is an array.
  public func items<Item>(
    _ items: @escaping @Sendable (Page) -> [Item]
  ) -> some AsyncSequence<Item, HTTPFetchError<APIError>> & Sendable {
    PageItems(pages: self, items: items)
  }
}

// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The elements of pages, one after the other, of which a page is fetched when its first element is asked for.
public struct PageItems<Page: Sendable, Item, APIError: Error>: AsyncSequence, Sendable {
  /// An element of a page.
  public typealias Element = Item
  /// Why a page could not be fetched.
  public typealias Failure = HTTPFetchError<APIError>

  let pages: PageSequence<Page, APIError>
  let items: @Sendable (Page) -> [Item]

  /// Reads the elements.
  public struct AsyncIterator: AsyncIteratorProtocol {
    var pages: PageSequence<Page, APIError>.AsyncIterator
    let items: @Sendable (Page) -> [Item]
    var rest: ArraySlice<Item> = []

    /// The next element; `nil` behind the last.
    ///
    /// - Throws: as the iterator of ``PageSequence``.
    public mutating func next() async throws(Failure) -> Item? { try await next(isolation: #isolation) }

    /// The next element; as ``next()``.
    ///
    /// - Throws: as ``next()``.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Item? {
      while true {
        if let item = rest.popFirst() { return item }
        guard let page = try await pages.next(isolation: actor) else { return nil }
        rest = items(page.value)[...]
      }
    }
  }

  /// Makes the iterator, which begins with the first page.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pages: pages.makeAsyncIterator(), items: items) }
}

extension PageSequence {
  /// The elements of the pages.
  ///
  /// - Parameter items: takes them from a page, such as `\.data`.
  public func items<Item>(_ items: @escaping @Sendable (Page) -> [Item]) -> PageItems<Page, Item, APIError> {
    PageItems(pages: self, items: items)
  }
}

extension PageSequence where Page: Sequence {
  /// The elements of the pages.
  public var items: PageItems<Page, Page.Element, APIError> { items { Array($0) } }
}

// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A page of a ``PageSequence``.
public struct FetchedPage<Page: Sendable>: Sendable {
  /// The page.
  public let value: Page
  /// The response that contained the page, with the ledger of its own call.
  public let response: ResourceResponse
  /// The point from which another sequence can continue after this page; `nil` after the last page, and if the link to
  /// the next page must not be followed.
  public let resumePoint: PageResumePoint?
}

/// A point from which a sequence of pages can continue. It can be stored beyond the process.
///
/// It contains a URL, or a value for a URL or a header field, as the server gave it.
public struct PageResumePoint: Sendable, Hashable, Codable {
  /// The difference of the next page's request.
  package let next: NextPage
  /// The number of pages before it.
  public let index: Int
}

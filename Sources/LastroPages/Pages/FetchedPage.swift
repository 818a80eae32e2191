// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// One page of a ``PageSequence``.
public struct FetchedPage<Page: Sendable>: Sendable {
  /// The page.
  public let value: Page
  /// The answer that it came in, with the account of its own call.
  public let response: ResourceResponse
  /// Where another sequence goes on behind this page; `nil` behind the last, and where the page leads to what is not
  /// asked for.
  public let resumePoint: PageResumePoint?
}

/// Where a sequence of pages goes on, to be kept beyond the process.
///
/// It has a URL, or what goes into one or into a header field, as the server gave it.
public struct PageResumePoint: Sendable, Hashable, Codable {
  /// What comes next.
  public let next: NextPage
  /// Number of pages before it.
  public let index: Int
}

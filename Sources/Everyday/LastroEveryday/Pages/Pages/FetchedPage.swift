// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A page of a ``PageSequence``.
public struct FetchedPage<Page: Sendable>: Sendable {
  /// The page.
  public let value: Page
  /// The response that contained the page, with the ledger of its own call.
  public let response: ResourceResponse
  /// The page after this one, from which another sequence can continue; `nil` after the last page, and if the link to
  /// the next page must not be followed.
  public let next: NextPage?
}

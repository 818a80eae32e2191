// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// Pages of an API, each fetched when it is asked for.
///
/// ```swift
/// for try await page in stack.pages(.repositories(of: "apple"), by: .link) {
///   print(page.value.count, page.response.attempts.count)
/// }
/// ```
///
/// Each page is a call of its own, with its retries, limits and ledger. A page that fails ends the sequence; the
/// ``FetchedPage/resumePoint`` of the page before goes on there. A link that leads to another origin, to `http`, or
/// back to what was fetched is not followed: behind the page that has it, the sequence ends with an error of stage
/// `request`. ``PageOptions`` has the
/// limits. Each iterator begins anew.
public struct PageSequence<Page: Sendable, APIError: Error>: AsyncSequence, Sendable {
  /// A page with its answer.
  public typealias Element = FetchedPage<Page>
  /// Why a page could not be fetched, or the next one is not asked for.
  public typealias Failure = HTTPFetchError<APIError>

  let fetcher: PageFetcher<Page, APIError>
  let resumePoint: PageResumePoint?

  /// Fetches pages. For one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let fetcher: PageFetcher<Page, APIError>
    /// `nil` once it has failed.
    var progress: PageProgress?
    private var ahead: PageAhead<PageFetcher<Page, APIError>.Outcome?, Failure>?

    init(_ fetcher: PageFetcher<Page, APIError>, _ progress: PageProgress) {
      self.fetcher = fetcher
      self.progress = progress
    }

    /// The next page; `nil` behind the last, and once it has failed.
    ///
    /// - Throws: `HTTPFetchError`: that of the page's call, the cancelled error where the task is cancelled while
    ///   it runs (a page that was fetched ahead is given all the same); or
    ///   stage `request` with code `pagination_loop`, `foreign_page`, `insecure_redirect`, `invalid_url` or
    ///   `too_many_pages`; or stage `timeout` where ``PageOptions/total`` has passed.
    public mutating func next() async throws(Failure) -> Element? { try await next(isolation: #isolation) }

    /// The next page; as ``next()``.
    ///
    /// - Throws: as ``next()``.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Element? {
      guard let progress else { return nil }
      self.progress = nil
      let result = if let ahead { await ahead.value() } else { await fetcher.page(progress) }
      ahead = nil
      guard let (page, behind) = try result.get() else {
        self.progress = progress
        return nil
      }
      self.progress = behind
      if fetcher.options.fetchesAhead, page.resumePoint != nil {
        let fetcher = fetcher
        ahead = PageAhead { await fetcher.page(behind) }
      }
      return page
    }
  }

  /// Makes the iterator, which begins with the first page.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(fetcher, PageProgress(resumePoint)) }
}

/// A page that is fetched while the caller works on another. Dropping it gives it up.
private final class PageAhead<Value: Sendable, Failure: Error>: Sendable {
  private let task: Task<Result<Value, Failure>, Never>

  init(_ fetch: @escaping @Sendable () async -> Result<Value, Failure>) { task = Task { await fetch() } }

  deinit { task.cancel() }

  func value() async -> Result<Value, Failure> {
    await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
  }
}

extension HTTPNetworkStack {
  /// The pages of an API, from the first one on.
  ///
  /// - Parameters:
  ///   - first: the first page. The requests for the others are made of its request: method, fields and body are the
  ///     same.
  ///   - next: how the API tells what comes behind a page.
  ///   - resumePoint: where to go on instead of at the first page. Default: `nil`.
  ///   - options: default ``PageOptions/init()``.
  public func pages<Page, APIError>(
    _ first: HTTPResource<Page, APIError>, by next: Pagination<Page>, from resumePoint: PageResumePoint? = nil,
    options: PageOptions = PageOptions()
  ) -> PageSequence<Page, APIError> {
    PageSequence(
      fetcher: PageFetcher(stack: self, first: first, pagination: next, options: options), resumePoint: resumePoint)
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroSupport

/// Fetches one page after the other.
struct PageFetcher<Page: Sendable, APIError: Error>: Sendable {
  /// A page, and where it leads.
  typealias Outcome = (page: FetchedPage<Page>, progress: PageProgress)

  let stack: any HTTPNetworkStack
  let first: HTTPResource<Page, APIError>
  let pagination: Pagination<Page>
  let options: PageOptions

  /// The next page; `nil` behind the last.
  func page(_ progress: PageProgress) async -> Result<Outcome?, HTTPFetchError<APIError>> {
    do throws(HTTPFetchError<APIError>) {
      return .success(try await next(progress))
    } catch {
      return .failure(error)
    }
  }

  private func next(_ progress: PageProgress) async throws(HTTPFetchError<APIError>) -> Outcome? {
    if case .end = progress.step { return nil }
    guard progress.index < options.maximumPages else {
      throw HTTPFetchError(
        .noRequest(
          TransportError.refused(
            .tooManyPages, "there are more pages than the limit of \(options.maximumPages) allows",
            hint: "raise PageOptions.maximumPages, or go on from the last page's resume point")))
    }
    var progress = progress
    let asked = Lock<HTTPRequest?>(nil)
    let answer = try await fetch(resource(of: progress, noting: asked), &progress)
    do {
      let next = try pagination.next(answer.value, answer.response, progress.index)
      let request = asked.withLock { $0 } ?? HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil)
      try progress.pass(to: next, asked: request, answered: answer.response.url, options.origins)
    } catch {
      throw HTTPFetchError(.noRequest(error), response: answer.response)
    }
    var resumePoint: PageResumePoint?
    if case .next(let next) = progress.step { resumePoint = PageResumePoint(next: next, index: progress.index) }
    return (FetchedPage(value: answer.value, response: answer.response, resumePoint: resumePoint), progress)
  }

  /// The first resource, with what the page has in place of the first one's.
  private func resource(
    of progress: PageProgress, noting asked: Lock<HTTPRequest?>
  ) -> HTTPResource<Page, APIError> {
    var resource = first
    let make = first.baseRequestMaking.make
    let step: NextPage? = if case .next(let next) = progress.step { next } else { pagination.first }
    let origins = options.origins
    resource.baseRequestMaking = BaseRequestMaking { () async throws -> ResourceRequest in
      let base = try await make()
      let request = try step?.applied(to: base, origins) ?? base
      asked.withLock { $0 = request.head }
      return request
    }
    return resource
  }

  private func fetch(
    _ resource: HTTPResource<Page, APIError>, _ progress: inout PageProgress
  ) async throws(HTTPFetchError<APIError>) -> Network.Value<Page, ResourceResponse> {
    guard let total = options.total else { return try await stack.fetch(resource) }
    let now = options.timeSource.now()
    let start = progress.start ?? now
    progress.start = start
    let late = TransportError.deadlinePassed(
      .totalTimeout, of: total, "while page \(progress.index + 1) was fetched", requestSent: progress.index > 0)
    let left = total - (now - start)
    guard left > .zero else { throw HTTPFetchError(.transport(late)) }
    let stack = stack
    let outcome = await interruptible(within: left, time: options.timeSource) {
      () -> Result<Network.Value<Page, ResourceResponse>, HTTPFetchError<APIError>> in
      do throws(HTTPFetchError<APIError>) {
        return .success(try await stack.fetch(resource))
      } catch {
        return .failure(error)
      }
    }
    switch outcome {
    case .success(let result): return try result.get()
    case .failure(.limit): throw HTTPFetchError(.transport(late))
    case .failure(.cancelled): throw HTTPFetchError(.cancelled)
    }
  }
}

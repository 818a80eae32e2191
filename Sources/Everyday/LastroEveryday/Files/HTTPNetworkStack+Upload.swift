// SPDX-License-Identifier: Apache-2.0

public import Lastro

extension HTTPNetworkStack {
  /// Uploads a file by a resumable protocol: tus 1.0.0, or the IETF's draft.
  ///
  /// ```swift
  /// var options = UploadOptions()
  /// options.metadata = ["filename": "a.mov"]
  /// let sent = try await stack.upload(file: "/srv/a.mov", to: .get("https://example.org/files"), options: options)
  /// ```
  ///
  /// After a loss, the server is asked how many bytes it has, and the rest is sent from there. Nothing is sent again
  /// blindly, and only one request at a time is in progress. The file is read while it is sent: it must not change
  /// meanwhile.
  ///
  /// Interceptors and timeouts apply to each request as in a fetch. A large file needs a longer total timeout than a
  /// fetch, such as `Timeouts.streaming`. The server chooses the URL of the upload: if its origin differs from the
  /// resource's, it gets none of the resource's credentials, unless ``UploadOptions/credentialOrigins`` contains it.
  /// Redirects with status 307 and 308 are followed, at most 20 without progress, and never from https to http; the
  /// request's own redirect policy and idempotency have no effect. Runs on the concurrent pool.
  ///
  /// - Parameters:
  ///   - path: the path of a regular file.
  ///   - resource: the resource that creates uploads. tus sends POST, and so does the draft unless the request has
  ///     another method than GET. The resource's body and model are not used.
  ///   - token: the token of an upload of the same file that was begun before, even by another process, to resume it:
  ///     the value that was passed to ``UploadOptions/onToken``. Its protocol is used. A file with another length or
  ///     modification time is refused. Default `nil`: a new upload is created.
  ///   - options: the options for the protocol, sizes and retries.
  ///   - progress: a closure that is called with the progress, on the concurrent pool, one call at a time. During a
  ///     call, newer progress replaces older. The last call precedes the return of this method, unless the task is
  ///     cancelled. With a reporter in ``UploadOptions/progress`` as well, the upload fails with `request/invalid_option`.
  ///     Default `nil`.
  /// - Returns: the URL of the upload, which is `nil` if the server accepted the content without creating one, and the
  ///   last response: with the draft, the target's own response, unless it was lost.
  /// - Throws: the errors of a fetch; and the codes `file_failed`, `upload_changed`, `upload_mismatch`, and
  ///   `body_too_large` for a file that the server does not accept.
  @concurrent
  public func upload<Model, APIError>(
    file path: String, to resource: HTTPResource<Model, APIError>, resuming token: UploadToken? = nil,
    options: UploadOptions = UploadOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) async throws(HTTPFetchError<APIError>) -> (url: String?, response: ResourceResponse) {
    try await reporting(options.progress, progress) { (reporter) async throws(HTTPFetchError<APIError>) in
      var options = options
      options.progress = reporter
      let file = try await uploadFile(path, to: resource, resuming: token, options: options)
      return (file.url, file.response)
    }
  }

  /// Cancels an upload, so that the server deletes what it has of it, by a DELETE request (tus's termination extension;
  /// "Upload Cancellation" of the draft).
  ///
  /// An upload that no longer exists (404, 410) is not an error. No other request of the same upload may be in
  /// progress. Redirects with status 307 and 308 are followed, and credentials are sent to the same origins as by
  /// ``upload(file:to:resuming:options:progress:)``. Interceptors and timeouts apply as in a fetch. Runs on the concurrent pool.
  ///
  /// - Parameters:
  ///   - token: the token passed to ``UploadOptions/onToken``.
  ///   - resource: the resource by which the upload was begun, for its credentials and interceptors.
  ///   - credentialOrigins: origins besides the resource's that may get its credentials. Default: none.
  /// - Throws: the errors of a fetch: a server that does not support cancelling responds with 4xx.
  @concurrent
  public func cancelUpload<Model, APIError>(
    _ token: UploadToken, as resource: HTTPResource<Model, APIError>, credentialOrigins: Set<Origin> = []
  ) async throws(HTTPFetchError<APIError>) {
    let resource = based(resource)
    let dialect = token.uploadProtocol
    let base: ResourceRequest
    do {
      base = try await resource.baseRequestMaking.make()
      _ = try ResourceRequest(url: token.url)
    } catch {
      throw HTTPFetchError(.noRequest(error))
    }
    var place = UploadPlace(base: base, dialect: dialect, credentialOrigins: credentialOrigins)
    place.url = token.url
    var redirects = 0
    while true {
      let asking = place.asking(resource) { (request) throws(TransportError) in try dialect.cancel(&request) }
      do throws(HTTPFetchError<any Error>) {
        _ = try await fetch(asking.raw)
        return
      } catch {
        if [404, 410].contains(error.statusCode?.code) { return }
        redirects += 1
        guard redirects <= UploadMachine.maximumRedirects, let answer = error.response,
          place.follow(answer, isMaking: false)
        else { throw error.mapAPIError { $0 as? APIError } }
      }
    }
  }

  /// Uploads a file, and returns what is known of the upload.
  @concurrent
  package func uploadFile<Model, APIError>(
    _ path: String, to resource: HTTPResource<Model, APIError>, resuming token: UploadToken? = nil,
    options: UploadOptions
  ) async throws(HTTPFetchError<APIError>) -> UploadedFile {
    defer { options.progress?.finish() }
    var options = options
    if let token { options.uploadProtocol = token.uploadProtocol }
    options.timeSource = ownConfiguration.timeSource
    let resource = based(resource)
    let file: any OpenFile
    let status: FileStatus
    let base: ResourceRequest
    do {
      try options.check()
      file = try options.files.open(path, .reading)
      status = try file.status()
      if let token, token.length != status.length || token.modified != status.modified {
        throw TransportError.uploadChanged(path)
      }
      base = try await resource.baseRequestMaking.make()
      if let token { _ = try ResourceRequest(url: token.url) }
    } catch let error as FileFailure {
      throw HTTPFetchError(.noRequest(error.transportError(requestSent: false)))
    } catch {
      throw HTTPFetchError(.noRequest(error))
    }
    var run = UploadRun(resource, by: self, of: file, at: path, status, base: base, options: options)
    return try await run.run(token)
  }
}

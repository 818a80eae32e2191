// SPDX-License-Identifier: Apache-2.0

public import Lastro

extension HTTPNetworkStack {
  /// Uploads a file so that it can be gone on with where it is cut: by tus 1.0.0, or by the IETF's draft.
  ///
  /// ```swift
  /// var options = UploadOptions(.tus)
  /// options.metadata = ["filename": "a.mov"]
  /// let upload = try await stack.upload(file: "/srv/a.mov", to: .get("https://example.org/files"), options: options)
  /// ```
  ///
  /// After a loss the server is asked how much it has, and the rest is sent from there; nothing is sent again blindly,
  /// and one request at a time is under way. The file is read while it is sent: it must not change meanwhile.
  ///
  /// Interceptors and limits in time are those of a fetch, for each of the requests; a large file wants another total
  /// timeout than a fetch has, such as `Timeouts.streaming`. The server says where the upload is: at another origin
  /// than the resource's it gets none of its credentials, unless ``UploadOptions/credentialOrigins`` has it. Of
  /// redirects 307 and 308 are followed, 20 at most without progress, and never from https to http: the request's own
  /// policy of redirects says nothing here, nor does its idempotency. Runs on the concurrent pool.
  ///
  /// - Parameters:
  ///   - path: of a regular file.
  ///   - resource: where uploads are made; tus sends POST, and so does the draft unless the request has another method
  ///     than GET. Its body is not used, nor is its model.
  ///   - options: protocol, sizes, going on.
  /// - Throws: as a fetch; and the codes `file_failed`, `upload_mismatch`, and `body_too_large` for a file that the
  ///   server does not take.
  @concurrent
  public func upload<Model, APIError>(
    file path: String, to resource: HTTPResource<Model, APIError>, options: UploadOptions = UploadOptions()
  ) async throws(HTTPFetchError<APIError>) -> UploadedFile {
    try await upload(path, resource, options, nil)
  }

  /// Goes on with an upload that was begun before, also by another process.
  ///
  /// - Parameters:
  ///   - token: what ``UploadOptions/onToken`` was told. Its protocol is used.
  ///   - path: of the same file. One with another length, or that was changed since, is refused.
  ///   - resource: as when the upload was begun: for its credentials and interceptors.
  ///   - options: sizes, going on.
  /// - Throws: as ``upload(file:to:options:)``; and the code `upload_changed`.
  @concurrent
  public func resumeUpload<Model, APIError>(
    _ token: UploadToken, of path: String, as resource: HTTPResource<Model, APIError>,
    options: UploadOptions = UploadOptions()
  ) async throws(HTTPFetchError<APIError>) -> UploadedFile {
    var options = options
    options.uploadProtocol = token.uploadProtocol
    return try await upload(path, resource, options, token)
  }

  /// Gives an upload up: the server forgets what it has of it, by DELETE (tus's extension for termination; "Upload
  /// Cancellation" of the draft).
  ///
  /// One that is not there any more (404, 410) is none to give up, and no failure. No request of the same upload may be
  /// under way. Redirects 307 and 308 are followed, and credentials go where they go for
  /// ``resumeUpload(_:of:as:options:)``. Interceptors and limits in time are those of a fetch. Runs on the concurrent
  /// pool.
  ///
  /// - Parameters:
  ///   - token: what ``UploadOptions/onToken`` was told.
  ///   - resource: as when the upload was begun: for its credentials and interceptors.
  ///   - credentialOrigins: origins besides the resource's that may get its credentials. Default none.
  /// - Throws: as a fetch: a server that cannot do it answers 4xx.
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

  private func upload<Model, APIError>(
    _ path: String, _ resource: HTTPResource<Model, APIError>, _ options: UploadOptions, _ token: UploadToken?
  ) async throws(HTTPFetchError<APIError>) -> UploadedFile {
    defer { options.progress?.finish() }
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

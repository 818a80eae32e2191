// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import Glibc
public import Lastro

extension HTTPNetworkStack {
  /// Downloads a resource to a file, which gets its name once it is complete.
  ///
  /// ```swift
  /// let file = try await stack.download(.get("https://example.org/image.iso"), to: "/srv/image.iso")
  /// print(file.length, file.resumedFrom)
  /// let next = try await stack.download(.get("https://example.org/next.iso"), to: "/srv/next.iso") { progress in
  ///   print(progress.fractionReceived ?? 0)
  /// }
  /// ```
  ///
  /// Received bytes go to `PATH.part`, and a description of them to `PATH.part.json`, which only its owner can read and
  /// which contains no credentials. An interrupted download resumes from these files: automatically after a loss, and
  /// when it is called again, even in another process, after a kill or after a power loss. The rest is requested on the
  /// condition that the file has not changed (`If-Range`, RFC 9110 §13.1.5). An interruption costs at most the bytes
  /// received since the last sync; the file is synced every 16 MiB and every 5 s. Only one download at a time can write
  /// to a path.
  ///
  /// Interceptors, redirects, retries and timeouts apply to each request as in `HTTPNetworkStack.stream(_:)`; the
  /// model of the resource is not used. No content coding is requested. Runs on the concurrent pool. Cancelling syncs
  /// the received bytes and ends the download.
  ///
  /// - Parameters:
  ///   - resource: the resource to download; its request is a GET without a `Range`.
  ///   - path: the path of the file. Its folder must exist. A symbolic link at the path is replaced, never followed.
  ///   - options: the options for resuming, digests and limits. Default: resumes, and replaces no file.
  ///   - progress: a closure that is called with the progress, on the concurrent pool, one call at a time. During a
  ///     call, newer progress replaces older. The last call precedes the return of this method, unless the task is
  ///     cancelled. With a reporter in ``DownloadOptions/progress`` as well, the download fails with `request/invalid_option`.
  ///     Default `nil`.
  /// - Throws: the errors of `stream`; and the codes `resume_mismatch`, `digest_mismatch`, `download_in_progress`,
  ///   `file_exists`, `disk_full`, `file_failed`, and `body_too_large` for more than ``DownloadOptions/maximumBytes``.
  @concurrent
  public func download<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, to path: String, options: DownloadOptions = DownloadOptions(),
    progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) async throws(HTTPFetchError<APIError>) -> DownloadedFile {
    try await reporting(options.progress, progress) { (reporter) async throws(HTTPFetchError<APIError>) in
      var options = options
      options.progress = reporter
      return try await downloadFile(resource, to: path, options: options)
    }
  }

  private func downloadFile<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, to path: String, options: DownloadOptions
  ) async throws(HTTPFetchError<APIError>) -> DownloadedFile {
    defer { options.progress?.finish() }
    var options = options
    options.timeSource = ownConfiguration.timeSource
    let resource = based(resource)
    let source: DownloadSource
    do {
      try options.check()
      let request = try await resource.baseRequestMaking.make()
      try request.checkDownload()
      source = try DownloadSource(request, resource.options, identity: options.identity)
    } catch {
      throw HTTPFetchError(.noRequest(error))
    }
    let part: PartFile
    do throws(FileFailure) {
      part = try PartFile(path, source: source.hash, replaces: options.replaces, in: options.files)
    } catch {
      let refusal = error.code == EBUSY ? .inProgress(path) : error.transportError(requestSent: false)
      throw HTTPFetchError(.noRequest(refusal), request: "GET \(source.url)")
    }
    var run = DownloadRun(
      resource, by: self, to: part, url: source.url, source: source.hash, options: options)
    return try await run.run()
  }

  /// Downloads a resource to the file of a file URL; see
  /// ``download(_:to:options:progress:)-(_,String,_,_)``.
  ///
  /// - Throws: the errors of that form; and `request/invalid_option` if `file` is no file URL.
  @concurrent
  public func download<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, to file: URL, options: DownloadOptions = DownloadOptions(),
    progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) async throws(HTTPFetchError<APIError>) -> DownloadedFile {
    guard file.isFileURL else {
      throw HTTPFetchError(
        .noRequest(
          TransportError.refused(
            .invalidOption, "the target of a download is not a file URL", hint: "make it with URL(filePath:)")))
    }
    return try await download(resource, to: file.path, options: options, progress: progress)
  }
}

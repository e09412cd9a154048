# Debian's rTorrent, as compose.yaml runs it.
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends rtorrent \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 1000 --create-home rtorrent \
 && install -d -o rtorrent /session /downloads
COPY docs/deploy/rtorrent.rc /etc/rtorrent.rc
USER rtorrent
VOLUME ["/session", "/downloads"]
ENTRYPOINT ["rtorrent", "-n", "-o", "import=/etc/rtorrent.rc"]

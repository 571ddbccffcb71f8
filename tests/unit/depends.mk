# SPDX-License-Identifier: GPL-2.0-only
#
# Dependencies that the compiler wrote into O. A source that was moved is still a
# prerequisite there, and make would ask for it for ever: such an object goes, and its
# dependencies.

$(shell awk '{ for (i = 1; i <= NF; i++) if ($$i ~ /\.c$$/) { \
		if ((getline line <$$i) < 0) print FILENAME; else close($$i); nextfile } }' \
	$(wildcard $(O)/*.d) /dev/null | while read -r file; do rm -f "$$file" "$${file%.d}.o"; done)

-include $(wildcard $(O)/*.d)
